/* SPDX-License-Identifier: Apache-2.0
 * live_bell.h: one thread waits for any of many others. */
#ifndef CTT_LIVE_BELL_H
#define CTT_LIVE_BELL_H

#include <pthread.h>

struct ctt_bell {
    pthread_mutex_t lock;
    pthread_cond_t  news;
    int             rung, made;
};

/* CTT_ENOMEM: no lock.  close: of one that is zeros, too. */
int  ctt_bell_open(struct ctt_bell *b);
void ctt_bell_close(struct ctt_bell *b);

/* Any thread rings; wait returns at once if one has since the last wait, else
 * when one does, or after a twentieth of a second. */
void ctt_bell_ring(struct ctt_bell *b);
void ctt_bell_wait(struct ctt_bell *b);

#endif
