/* SPDX-License-Identifier: Apache-2.0
 * learn.c: what each rank of test_mpi_cli.sh, test_sync_cli.sh and
 * test_stages_cli.sh does where convtt-train cannot be made to.  It trains on a
 * list of clips and prints a checksum of the weights.
 * Usage: learn NET CLIPS WHAT [NAME=VALUE]...: WHAT: gone, one clip is not
 * there any more when the training begins; a number K, the K-th allocation of
 * the last rank fails.  The rest are settings.
 */
#include "comm/comm.h"
#include "libtrain/train.h"
#include "net/code/zip.h"
#include "net/init.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ctt_comm *comm;

static int set(struct ctt_train_cfg *cfg, char *setting)
{
    char *value = strchr(setting, '=');
    int rc = 0;

    CTT_CHECK(value, CTT_EINVAL, "'%s' is no setting", setting);
    *value = '\0';
    rc = ctt_opt_set(ctt_train_opts, cfg, setting, value + 1);
out:
    return rc;
}

static int settings(char **more, struct ctt_train_cfg *cfg)
{
    static const char *const rows[][2] = {
        { "batch", "8" }, { "shards", "4" }, { "threads", "1" },
        { "cache", "0" }, { "epochs", "2" }, { "workers", "1" },
    };
    int rc = 0;

    CTT_TRY(ctt_opt_defaults(ctt_train_opts, cfg));
    for (size_t i = 0; i < CTT_LEN(rows); i++)
        CTT_TRY(ctt_opt_set(ctt_train_opts, cfg, rows[i][0], rows[i][1]));
    for (; *more; more++)
        CTT_TRY(set(cfg, *more));
    cfg->wiring.comm = comm;
out:
    return rc;
}

static int read_net(const char *path, struct ctt_graph **out)
{
    char text[4096] = "";
    FILE *f = fopen(path, "r");
    int rc = 0;

    CTT_CHECK(f, CTT_EIO, "%s: not there", path);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    CTT_TRY(ctt_net_parse(text, out));
out:
    if (f)
        fclose(f);
    return rc;
}

static int make_model(struct ctt_graph *g, const struct ctt_data *d,
                      struct ctt_model **m)
{
    char *const *label;
    int labels, rc;

    label = ctt_data_labels(d, &labels);
    CTT_TRY(ctt_model_new(g, m));
    CTT_TRY(ctt_model_labels(*m, label, labels));
    ctt_init_weights(*m, 1);
out:
    return rc;
}

/* The clip goes when all have seen it, and none begins before it is gone. */
static int lose_clip(const char *what)
{
    char one = 0, all[64];
    int rc;

    CTT_TRY(ctt_comm_allgather(comm, &one, 1, all));
    if (ctt_comm_place(comm)->rank == 0 && !atoi(what))
        CTT_CHECK(system("rm -r lost") == 0, CTT_EIO, "cannot remove a clip");
    CTT_TRY(ctt_comm_allgather(comm, &one, 1, all));
out:
    return rc;
}

static int learn(char **arg)
{
    const struct ctt_events ev = { 0 };
    const struct ctt_comm_place *p = ctt_comm_place(comm);
    struct ctt_train_cfg cfg = { 0 };
    struct ctt_graph *g = NULL;
    struct ctt_data *d = NULL;
    struct ctt_model *m = NULL;
    struct ctt_result r;
    int rc;

    CTT_TRY(settings(arg + 4, &cfg));
    CTT_TRY(read_net(arg[1], &g));
    CTT_TRY(ctt_data_open(arg[2], "train", &g->node[0].attr.input, NULL, 0,
                          &cfg, &ev, &d));
    CTT_TRY(make_model(g, d, &m));
    CTT_TRY(lose_clip(arg[3]));
    if (p->rank == p->ranks - 1)
        ctt_fail_alloc(atol(arg[3]));
    CTT_TRY(ctt_train(m, &cfg, d, NULL, &ev, &r));
    ctt_fail_alloc(0);
    if (p->rank == 0)
        printf("weights %08x\n", (unsigned)ctt_crc32(0, m->w, sizeof(float),
                                                     m->g->weights));
out:
    ctt_data_close(&d);
    ctt_model_free(&m);
    return rc;
}

int main(int argc, char **argv)
{
    int rc;

    if (argc < 4)
        return 2;
    CTT_TRY(ctt_comm_open("auto", &comm));
    CTT_TRY(learn(argv));
out:
    if (rc < 0) {
        fprintf(stderr, "learn: rank %d: %s\n", ctt_comm_place(comm)->rank,
                ctt_errmsg());
        ctt_comm_abort(comm, 1);
    }
    ctt_comm_close(&comm);
    return rc < 0;
}
