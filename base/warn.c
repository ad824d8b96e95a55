/* SPDX-License-Identifier: Apache-2.0
 * warn.c: warnings, handed to whoever asked for them. */
#include "base/warn.h"
#include "base/visible.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE = 512 };

static struct {
    pthread_mutex_t lock;
    void          (*say)(void *arg, const char *text);
    void           *arg;
} listener = { .lock = PTHREAD_MUTEX_INITIALIZER };

void ctt_warn_to(void (*say)(void *arg, const char *text), void *arg)
{
    pthread_mutex_lock(&listener.lock);
    listener.say = say;
    listener.arg = arg;
    pthread_mutex_unlock(&listener.lock);
}

void ctt_warn(const char *fmt, ...)
{
    char raw[LINE], text[LINE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(raw, sizeof(raw), fmt, args);
    va_end(args);
    ctt_visible(raw, 0, text, sizeof(text));
    pthread_mutex_lock(&listener.lock);
    if (listener.say)
        listener.say(listener.arg, text);
    pthread_mutex_unlock(&listener.lock);
}
