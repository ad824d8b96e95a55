/* SPDX-License-Identifier: Apache-2.0
 * head_conv.c: a small network on the changes of maps, trained by itself on
 * maps in memory, and added to the linear head of a model. */
#include "libtrain/recognise/head_conv.h"
#include "comm/comm.h"
#include "net/init.h"
#include "net/rewrite/edit.h"

#include <stdio.h>
#include <string.h>

enum { LIST = CTT_MAX_IN * 16 };    /* bytes of a list of names */

/* With the settings below and --epochs=15, those of
 * doc/bench/recognition.md. */
enum { WIDTH = 16, BATCH = 16 };

/* Writes the name "stem.xK" with an ending and finds the node. */
static int head_node(const struct ctt_graph *g, char x, int k, const char *end,
                     char name[CTT_NAME + 16])
{
    snprintf(name, CTT_NAME + 16, "%s.%c%d%s",
             g->node[ctt_graph_output(g)].name, x, k % CTT_MAX_IN, end);
    return ctt_graph_find(g, name);
}

/* ---- graphs ---- */

/* The lines that both graphs have, behind the changes of ctt_head_motions: of
 * each map s.zK, and s.az, their means over time. */
static int add_network(struct ctt_edit *e, int end, const char *s, int maps)
{
    char list[LIST] = "";
    int rc = 0;

    for (int k = 0; k < maps; k++) {
        CTT_TRY(ctt_edit_add(e, end, "concat %s.t%d in=%s.%c%d,%s.%c%d", s, k,
                             s, ctt_head_motions[0].change, k, s,
                             ctt_head_motions[1].change, k));
        CTT_TRY(ctt_edit_add(e, end, "conv %s.w%d in=%s.t%d out=%d kernel=3 "
                             "pad=1 bias=0", s, k, s, k, WIDTH));
        CTT_TRY(ctt_edit_add(e, end, "norm %s.b%d in=%s.w%d kind=batch", s, k,
                             s, k));
        CTT_TRY(ctt_edit_add(e, end, "act %s.r%d in=%s.b%d kind=relu", s, k, s,
                             k));
        CTT_TRY(ctt_edit_add(e, end, "pool %s.g%d in=%s.r%d kind=avg", s, k, s,
                             k));
        CTT_TRY(ctt_edit_add(e, end, "pool %s.h%d in=%s.r%d kind=max", s, k, s,
                             k));
        snprintf(list + strlen(list), sizeof(list) - strlen(list),
                 "%s%s.g%d,%s.h%d", k ? "," : "", s, k, s, k);
    }
    CTT_TRY(ctt_edit_add(e, end, "concat %s.z in=%s", s, list));
    CTT_TRY(ctt_edit_add(e, end, "average %s.az in=%s.z skip=1", s, s));
out:
    return rc;
}

/* The changes of map k of a frame that holds all maps, s.f. */
static int add_map_changes(struct ctt_edit *e, int end, const char *s,
                       const struct ctt_map_set *set, int k)
{
    const struct ctt_map *m = &set->map[k];
    int rc;

    CTT_TRY(ctt_edit_add(e, end, "slice %s.s%d in=%s.f from=%lld to=%lld", s,
                         k, s, (long long)set->at[k],
                         (long long)(set->at[k] + ctt_map_size(m))));
    CTT_TRY(ctt_edit_add(e, end, "add %s.d%d in=%s.s%d", s, k, s, k));
    for (int i = 0; i < CTT_HEAD_MOTIONS; i++) {
        const struct ctt_head_motion *h = &ctt_head_motions[i];

        CTT_TRY(ctt_edit_add(e, end, "change %s.x%d%c in=%s.d%d delay=%d", s, k,
                             h->change, s, k, h->delay));
        CTT_TRY(ctt_edit_add(e, end, "reshape %s.%c%d in=%s.x%d%c d=%lld "
                             "h=%lld w=%lld c=%lld", s, h->change, k, s, k,
                             h->change, (long long)m->d, (long long)m->h,
                             (long long)m->w, (long long)m->c));
    }
out:
    return rc;
}

/* The network alone, for frames that hold all maps. */
static int network_graph(const struct ctt_map_set *set, const char *s,
                         int classes, struct ctt_graph **out)
{
    struct ctt_graph *frames = NULL;
    struct ctt_edit *e = NULL;
    char text[256];
    int rc;

    snprintf(text, sizeof(text), "input x h=1 w=%lld c=1 mean=0 std=%.9g\n"
             "reshape %s.f in=x c=%lld\n", (long long)set->each,
             CTT_MAP_CHANGE / 255.0, s, (long long)set->each);
    CTT_TRY(ctt_net_parse(text, &frames));
    CTT_TRY(ctt_edit_begin(frames, &e));
    for (int k = 0; k < set->tap.maps; k++)
        CTT_TRY(add_map_changes(e, frames->count, s, set, k));
    CTT_TRY(add_network(e, frames->count, s, set->tap.maps));
    CTT_TRY(ctt_edit_add(e, frames->count, "dropout %s.q in=%s.az rate=0.5", s,
                         s));
    CTT_TRY(ctt_edit_add(e, frames->count, "conv %s.o in=%s.q out=%d bias=0", s,
                         s, classes));
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    ctt_graph_free(&frames);
    return rc;
}

/* m with the network beside what its head reads; the head has no weights. */
static int widen_head(const struct ctt_model *m, const struct ctt_map_set *set,
                      struct ctt_model **out)
{
    int last = ctt_graph_output(m->g), end = m->g->count, rc;
    const struct ctt_node *head = &m->g->node[last];
    struct ctt_edit *e = NULL;
    const char *s = head->name;
    char name[CTT_NAME + 16];

    CTT_TRY(ctt_edit_begin(m->g, &e));
    for (int k = 0; k < set->tap.maps; k++) {
        for (int i = 0; i < CTT_HEAD_MOTIONS; i++) {
            const struct ctt_head_motion *h = &ctt_head_motions[i];

            if (head_node(m->g, h->change, k, "", name) < 0)
                CTT_TRY(ctt_edit_add(e, end, "change %s.%c%d in=%s delay=%d", s,
                                     h->change, k, set->map[k].name,
                                     h->delay));    /* else the linear head's */
        }
    }
    CTT_TRY(add_network(e, end, s, set->tap.maps));
    CTT_TRY(ctt_edit_add(e, end, "concat %s.y in=%s,%s.az", s,
                         m->g->node[head->in[0]].name, s));
    CTT_TRY(ctt_edit_add(e, end, "conv %s in=%s.y out=%lld", s, s,
                         (long long)head->out.c));
    ctt_edit_remove(e, last);
    CTT_TRY(ctt_edit_model(e, m, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* ---- training ---- */

int ctt_head_conv_begin(const struct ctt_graph *g,
                        const struct ctt_train_cfg *cfg,
                        const struct ctt_data *d, struct ctt_map_set *s)
{
    int rc = 0, ranks = ctt_comm_place(cfg->wiring.comm)->ranks;

    CTT_CHECK(ranks == 1, CTT_EUNSUP, "--head=conv is trained by one process, "
              "not by %d", ranks);
    for (int k = 0; k < CTT_MAX_IN; k++)
        s->tap.maps += head_node(g, ctt_head_motions[0].change, k, ".p",
                                 s->tap.state[k]) >= 0;
    CTT_CHECK(2 * s->tap.maps <= CTT_MAX_IN, CTT_EUNSUP, "--head=conv: more "
              "than %d --nodes", CTT_MAX_IN / 2);
    CTT_TRY(ctt_map_set_open(s, d, g, BATCH));
out:
    return rc;
}

static struct ctt_train_cfg network_settings(const struct ctt_train_cfg *cfg)
{
    struct ctt_train_cfg own = *cfg;

    own.backbone = own.nodes = own.val = own.test = own.out = NULL;
    own.checkpoint = own.report_html = NULL;
    own.augment = CTT_AUGMENT_OFF;
    own.mixup = 0.2f;
    own.batch = BATCH;
    own.lr = 0.002f;
    own.weight_decay = 0.05f;
    own.clip_norm = 0;
    own.observe = "0.25,0.5";
    return own;
}

/* Maxima over pixels are large, so random answers would be far off. */
static void begin_network(struct ctt_model *m, uint64_t seed)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_output(m->g)];

    ctt_init_weights(m, seed);
    memset(m->w + n->at[0], 0, (size_t)ctt_volume(&n->w[0]) * sizeof(*m->w));
}

static int train_network(const struct ctt_train_cfg *cfg,
                         const struct ctt_map_set *set, struct ctt_model *m,
                         const struct ctt_events *ev)
{
    const struct ctt_events own = { .arg = ev->arg, .progress = ev->progress,
                                    .epoch = ev->epoch };
    struct ctt_train_cfg how = network_settings(cfg);
    struct ctt_data d = { .clip = NULL };
    struct ctt_result r;
    int rc;

    CTT_TRY(ctt_map_set_data(set, &m->g->node[ctt_graph_input(m->g)].attr.input,
                             &d));
    begin_network(m, (uint64_t)cfg->seed);
    CTT_TRY(ctt_train(m, &how, &d, NULL, &own, &r));
    CTT_CHECK(!r.stopped, CTT_ESTOP, "stopped while the network was trained");
out:
    ctt_map_set_done(&d);
    return rc;
}

/* ---- both ---- */

/* The convs of the network, which was trained on bytes, for the maps. */
static void scale_convs(const struct ctt_map_set *set, struct ctt_model *m)
{
    char name[CTT_NAME + 16];

    for (int k = 0; k < set->tap.maps; k++) {
        const struct ctt_node *n = &m->g->node[head_node(m->g, 'w', k, "",
                                                         name)];
        const float *step = set->step + set->at[k];
        int64_t c = set->map[k].c;

        for (int64_t i = 0; i < ctt_volume(&n->w[0]); i++)
            m->w[n->at[0] + i] /= CTT_MAP_CHANGE * step[i % c];
    }
}

/* The head's weights: those of the linear head, then those of the network. */
static void set_answers(const struct ctt_model *linear,
                        const struct ctt_model *network, struct ctt_model *m)
{
    const struct ctt_model *from[] = { linear, network };
    const struct ctt_node *head = &m->g->node[ctt_graph_output(m->g)];
    int64_t inputs = head->w[0].c, at = 0;

    for (int k = 0; k < 2; k++) {
        const struct ctt_graph *g = from[k]->g;
        const struct ctt_node *n = &g->node[ctt_graph_output(g)];
        int64_t c = n->w[0].c;

        for (int64_t j = 0; j < head->out.c; j++)
            memcpy(m->w + head->at[0] + j * inputs + at, from[k]->w + n->at[0] +
                   j * c, (size_t)c * sizeof(*m->w));
        at += c;
        if (k == 0)
            memcpy(m->w + head->at[1], linear->w + n->at[1],
                   (size_t)head->out.c * sizeof(*m->w));
    }
}

int ctt_head_conv(struct ctt_model **m, const struct ctt_train_cfg *cfg,
                  struct ctt_map_set *s, const struct ctt_events *ev)
{
    const struct ctt_node *head = &(*m)->g->node[ctt_graph_output((*m)->g)];
    struct ctt_model *network = NULL, *both = NULL;
    struct ctt_graph *g = NULL;
    char line[128];
    int rc;

    CTT_TRY(ctt_map_set_bytes(s));
    CTT_TRY(network_graph(s, head->name, (int)head->out.c, &g));
    CTT_TRY(ctt_model_new(g, &network));
    snprintf(line, sizeof(line), "the linear head is fitted; a network of %lld "
             "weights is trained on the same maps", (long long)g->weights);
    ctt_say(ev, line);
    CTT_TRY(train_network(cfg, s, network, ev));
    CTT_TRY(widen_head(*m, s, &both));
    ctt_model_move(network, both);
    scale_convs(s, both);
    set_answers(*m, network, both);
    ctt_model_free(m);
    *m = both;
    both = NULL;
out:
    ctt_model_free(&network);
    ctt_model_free(&both);
    return rc;
}
