/* SPDX-License-Identifier: Apache-2.0
 * map_data.h: the maps of all frames of a set of clips in memory, as a set of
 * clips that a model is trained on. */
#ifndef CTT_MAP_DATA_H
#define CTT_MAP_DATA_H

#include "libtrain/data/data.h"
#include "libtrain/recognise/features.h"
#include "net/rewrite/maps.h"

/* Maps of each clip: those of a frame lie side by side, `each` numbers in all,
 * of which map k begins at at[k].  While they are read they are 16-bit floats;
 * afterwards bytes. */
struct ctt_map_set {
    struct ctt_map_tap tap;
    const struct ctt_data *d;
    int64_t  each;
    int64_t  at[CTT_MAX_IN];
    struct ctt_map map[CTT_MAX_IN];    /* without a checksum */
    uint8_t **clip;      /* [clips of d] */
    float   *step;       /* of bytes: of channel c of map k at at[k] + c */
};

/* Begins the set of d's clips with the nodes that the states s->tap.state of g
 * delay; s->tap is then to be given to ctt_features_read(), and s must not
 * move.  CTT_ENOMEM says so if this set and a loader's batches of so many clips
 * do not fit; CTT_EUNSUP: more than CTT_MAX_SIZE numbers a frame. */
int  ctt_map_set_open(struct ctt_map_set *s, const struct ctt_data *d,
                      const struct ctt_graph *g, int batch);
void ctt_map_set_close(struct ctt_map_set *s);

/* Bytes that a root mean square change over one frame has in a channel, or
 * fewer in one whose numbers would then not fit into 256. */
enum { CTT_MAP_CHANGE = 8 };

/* Turns the numbers to bytes: in a channel, byte * step + what is the same in
 * all frames.  CTT_ENAN names the clip of a number that is not finite. */
int  ctt_map_set_bytes(struct ctt_map_set *s);

/* Its clips as a set of frames for a model with this input line, of `each`
 * pixels; ctt_map_set_done() closes it in place of ctt_data_close(), which
 * would free the maps. */
int  ctt_map_set_data(const struct ctt_map_set *s, const struct ctt_input *in,
                      struct ctt_data *out);
void ctt_map_set_done(struct ctt_data *d);

#endif
