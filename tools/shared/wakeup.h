/* SPDX-License-Identifier: Apache-2.0
 * wakeup.h: one thread waits for any of many others. */
#ifndef CTT_WAKEUP_H
#define CTT_WAKEUP_H

#include <pthread.h>

struct ctt_wakeup {
    pthread_mutex_t lock;
    pthread_cond_t  news;
    int             rung, made;
};

/* CTT_ENOMEM: no lock.  close: of one that is zeros, too. */
int  ctt_wakeup_open(struct ctt_wakeup *b);
void ctt_wakeup_close(struct ctt_wakeup *b);

/* Any thread rings; wait returns at once if one has since the last wait, else
 * when one does, or after a twentieth of a second. */
void ctt_wakeup_ring(struct ctt_wakeup *b);
void ctt_wakeup_wait(struct ctt_wakeup *b);

#endif
