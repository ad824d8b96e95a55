/* SPDX-License-Identifier: Apache-2.0
 * test_presets.c: which changes --augment and --rand-augment make, and what is
 * given besides them. */
#include "libtrain/chance.h"
#include "tests/lib/augmented.h"
#include "tests/lib/lights.h"
#include "tests/lib/reader.h"

static void what_is_given_replaces_the_preset(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_augment a = ctt_augment_of(&cfg, 0);
    char line[192];

    CU_ASSERT_EQUAL(cfg.augment, CTT_AUGMENT_LIGHT);
    CU_ASSERT(a.speed > 1 && a.contrast > 0 && a.crop_area < 1);
    CU_ASSERT(!a.flip && a.mixup == 0 && a.cutmix == 0 && a.erase == 0);
    cfg.augment = CTT_AUGMENT_STRONG;
    CHECK_OK(ctt_opt_set(ctt_train_opts, &cfg, "contrast", "0.05"));
    CHECK_OK(ctt_opt_set(ctt_train_opts, &cfg, "mixup", "0"));
    a = ctt_augment_of(&cfg, 0);
    CU_ASSERT(a.contrast == 0.05f && a.mixup == 0 && a.cutmix > 0);
    CU_ASSERT(ctt_augment_mixes(&cfg));
    CU_ASSERT(ctt_augment_tell(&cfg, line, sizeof(line)));
    CU_ASSERT(strstr(line, "contrast=0.05") && strstr(line, "cutmix=1"));
    CU_ASSERT(strstr(line, "mixup=0") == NULL);
    CHECK_OK(ctt_opt_set(ctt_train_opts, &cfg, "contrast", "preset"));
    CU_ASSERT(ctt_augment_of(&cfg, 0).contrast > 0.05f);
    cfg.task = CTT_PREDICT;
    a = ctt_augment_of(&cfg, 0);
    CU_ASSERT(a.contrast == 0 && a.speed == 1 && !ctt_augment_mixes(&cfg));
    CU_ASSERT(!ctt_augment_tell(&cfg, line, sizeof(line)));
    cfg.task = CTT_RECOGNISE;
    ctt_augment_none(&cfg);
    CU_ASSERT(!ctt_augment_tell(&cfg, line, sizeof(line)));
}

/* What is given is not drawn; the other changes of clips are, at the magnitude
 * that is asked for, and those of batches stay. */
static void drawn_changes_replace_the_preset(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_augment a;
    char line[192];

    cfg.augment = CTT_AUGMENT_STRONG;
    cfg.rand_augment = 2;
    CHECK_OK(ctt_opt_set(ctt_train_opts, &cfg, "contrast", "0.05"));
    a = ctt_augment_of(&cfg, 0);
    CU_ASSERT(a.draws == 2 && a.contrast == 0.05f && a.cutmix == 1);
    CU_ASSERT(a.brightness == 0 && a.speed == 1 && a.erase == 0);
    CU_ASSERT(ctt_augment_tell(&cfg, line, sizeof(line)));
    CU_ASSERT_STRING_EQUAL(line, "contrast=0.05 grey=0.1 mixup=0.2 cutmix=1 "
        "and 2 of crop-area=0.7 crop-aspect=1.3 speed=1.5 start=0.2 "
        "brightness=0.5 random-gamma=0.5 saturation=0.4 erase=0.2");
    cfg.task = CTT_PREDICT;
    CU_ASSERT_EQUAL(ctt_augment_of(&cfg, 0).draws, 0);
    cfg.task = CTT_RECOGNISE;
    ctt_augment_none(&cfg);
    CU_ASSERT(!ctt_augment_tell(&cfg, line, sizeof(line)));
}

/* Which of the changes a look has, as bits, and whether its strength is the
 * magnitude's. */
static unsigned changes_of(const struct ctt_look *k, int length, float share)
{
    const float crop = 1 - 0.6f * share, wide = 1 + 0.6f * share;
    const float area = k->crop.w * k->crop.h / 100;
    const float gain = fabsf(k->tint.gain - 1), shift = fabsf(k->tint.shift);
    const float bend = fabsf(logf(k->tint.bend));
    const float colour = fabsf(k->colour - 1);
    const float aspect = fabsf(logf(k->crop.w / k->crop.h));
    int left = length - k->first;
    unsigned bits = (unsigned)(k->first > 0) << 3 | (k->count != left) << 2;

    bits |= (unsigned)(gain > 0) << 4 | (unsigned)(shift > 0) << 5 |
            (unsigned)(bend > 0) << 6 | (unsigned)(colour > 0) << 7 |
            (unsigned)(k->erased.w > 0) << 8;
    CU_ASSERT(gain <= 0 || fabsf(gain - 0.6f * share) < 1e-6f);
    CU_ASSERT(shift <= 0 || fabsf(shift - share) < 1e-6f);
    CU_ASSERT(bend <= 0 || fabsf(bend - logf(1 + share)) < 1e-6f);
    CU_ASSERT(colour <= 0 || fabsf(colour - 0.8f * share) < 1e-6f);
    CU_ASSERT(!k->first || k->first == (int)(0.4f * share * (float)length));
    CU_ASSERT(k->count == left ||
              k->count == lroundf((float)left / (1 + share)) ||
              k->count == lroundf((float)left * (1 + share)));
    if (!k->resized)
        return bits;
    /* 12 of 10 pixels are stored: a larger one has less */
    CU_ASSERT(area > 1.1f || fabsf(area - crop) < 1e-4f ||
              fabsf(area - 1) < 1e-4f);
    CU_ASSERT(aspect < 0.5f && (aspect < 1e-4f || area > 1.1f ||
                                fabsf(aspect - logf(wide)) < 1e-4f));
    return bits | (aspect < 1e-4f ? 1u : 2u);
}

/* A clip has as many changes as are drawn, at the magnitude, each of them about
 * as often; other clips and epochs have others. */
static void changes_are_drawn(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_data *d = open_toy();
    int often[9] = { 0 }, other = 0;
    unsigned was = 0;

    cfg.rand_augment = 1;
    cfg.magnitude = 4;
    for (uint64_t key = 1; key <= 30; key++)
        for (int i = 0; i < CLIPS; i++) {
            struct ctt_augment a = ctt_augment_of(&cfg, key);
            int length = d->clip[i].length;
            struct ctt_look k, again;
            unsigned bits;

            ctt_look_choose(d, i, &a, 99, &k);
            ctt_look_choose(d, i, &a, 99, &again);
            CU_ASSERT(memcmp(&k, &again, sizeof(k)) == 0);
            bits = changes_of(&k, length, 0.4f);
            CU_ASSERT((bits & (bits - 1)) == 0);
            for (int b = 0; b < 9; b++)
                often[b] += bits >> b & 1;
            other += bits != was;
            was = bits;
        }
    /* 100 of 900 each; a short clip may be as long as before */
    for (int b = 0; b < 9; b++)
        CU_ASSERT(often[b] > 60 && often[b] < 140);
    CU_ASSERT(other > 600);
    d->in.c = 1;
    cfg.rand_augment = 9;
    for (int i = 0; i < CLIPS; i++) {
        struct ctt_augment a = ctt_augment_of(&cfg, 7);
        struct ctt_look k;

        d->clip[i].length = i ? d->clip[i].length : 1;
        ctt_look_choose(d, i, &a, 99, &k);
        CU_ASSERT(k.colour == 1 && k.resized && k.erased.w > 0);
        CU_ASSERT(k.tint.gain != 1 && k.tint.bend != 1 && k.tint.shift != 0);
        CU_ASSERT(i || (k.first == 0 && k.count == 1));
    }
    ctt_data_close(&d);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "presets", what_is_given_replaces_the_preset },
        { "drawn changes replace the preset",
          drawn_changes_replace_the_preset },
        { "changes are drawn", changes_are_drawn },
        CU_TEST_INFO_NULL
    };

    return clips_main("presets", clips_clean, tests);
}
