#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_lists_cli.sh: convtt-data pack reads lists in each form in which data
# comes with segments, from the same clips.
set -u
tools="convtt-data convtt-train convtt-infer convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"

make_net
make_clips
data=$bin/convtt-data

mkdir lists lists/videos
ls clips/20bn-something-something-v2 | sort -n | sed 's/[.].*//' | head -4 > id
ending=$(ls clips/20bn-something-something-v2 | sed -n '1s/.*[.]//p')
[ "$(wc -l < id)" = 4 ] || { echo "no clips"; exit 1; }
n=0
for i in $(cat id); do
    n=$((n + 1))
    cp "clips/20bn-something-something-v2/$i.$ending" "lists/videos/v$n.$ending"
done
cp lists/videos/v1.$ending lists/videos/v_act.$ending

# list FILE: its two clips and two classes are packed; a second time with what
# follows.
list() {
    says 0 'out.h5: 2 clips, 0 bad' "$data" pack "lists/$1" -o out.h5 \
        --model tiny.net
    says 0 'out.h5: a pack with 2 classes' "$data" check out.h5
    rm -f out.h5
}

# 1. Named columns in any order, with other ones between.
printf '%s\r\n' file,class,direction,start_s,end_s \
    "videos/v1.$ending,\"run, fast\",,0.0,0.5" \
    "videos/v2.$ending,walk,BW,0.2,0.9" > lists/segments.csv
list segments.csv
printf 'label\tframes\tend_frame\tid\tstart_frame\n%s\n%s\n' \
    "a	99	5	v3	1" "b	99	6	v4	0" > lists/frames.tsv
list frames.tsv
printf '%s\n' 'path;label;split' 'v1;a;train' 'v2;b;train' 'v3;a;test' \
    > lists/split.csv
list split.csv
says 0 'out.h5: 1 clip, 0 bad' "$data" pack lists/split.csv -o out.h5 \
    --model tiny.net --split test

# 2. JSON.
cat > lists/activity.json << 'END'
{"version": "1.3", "database": {
 "act": {"subset": "training", "duration": 0.9, "annotations": [
  {"segment": [0, 0.4], "label": "run"}, {"segment": [0.4, 9], "label": "walk"}]
 },
 "v2": {"subset": "validation", "annotations": [
  {"segment": [0, 0.4], "label": "run"}]}}}
END
list activity.json
cat > lists/diving.json << 'END'
[{"vid_name": "v1", "label": 0, "start_frame": 0, "end_frame": 5},
 {"vid_name": "v2", "label": 7, "start_frame": 1, "end_frame": 6}]
END
list diving.json

# 3. And trained on as they are.
says 0 'm.ctt written' "$bin/convtt-train" tiny.net --data lists/segments.csv \
    -o m.ctt --epochs 1 --batch 2 --threads 1
says 0 'run, fast' "$bin/convtt-infer" m.ctt --threads 1 lists/segments.csv

# 4. What lies between the segments is a class.
printf '%s\n' file,class,start_s,end_s "videos/v1.$ending,a,0.4,0.8" \
    "videos/v2.$ending,b,0.3,0.6" > lists/gaps.csv
says 0 'out.h5: 4 clips, 0 bad' "$data" pack lists/gaps.csv -o out.h5 \
    --model tiny.net --background nothing
says 0 'nothing +2' "$data" list out.h5
says 0 'm.ctt written' "$bin/convtt-train" tiny.net --data lists/gaps.csv \
    -o m.ctt --epochs 1 --batch 2 --threads 1 --background nothing
says 0 'm.ctt written' "$bin/convtt-train" tiny.net --data out.h5 \
    -o m.ctt --epochs 1 --batch 2 --threads 1
says 0 ' nothing ' "$bin/convtt-infer" m.ctt --threads 1 --top 3 \
    lists/gaps.csv
says 2 'no clip is a part of a video, so .*--background' "$data" pack \
    lists/split.csv -o no.h5 --model tiny.net --background nothing
says 2 'out.h5: not a list with parts of videos' "$bin/convtt-train" tiny.net \
    --data out.h5 -o no.ctt --epochs 1 --background other

# 5. Folders of frames with a rate of their own, in lists and by themselves: a
# second of 12 frames is 6 of the model.
if type -P ffmpeg > /dev/null; then
    mkdir lists/pics
    ffmpeg -v error -i "lists/videos/v1.$ending" lists/pics/f_%03d.png
fi
if [ -e lists/pics/f_012.png ]; then
    find lists/pics -name 'f_*' | sort | tail -n +13 | xargs -r rm
    printf 'pics a\npics b\n' > lists/pics.txt
    for rate in 0:12 12:6 24:3; do
        says 0 'p.h5: 2 clips' "$data" pack lists/pics.txt -o p.h5 \
            --model tiny.net --fps ${rate%:*}
        says 0 "^a +1 +${rate#*:} " "$bin/convtt-info" p.h5
    done
    says 0 'm.ctt written' "$bin/convtt-train" tiny.net --data lists/pics.txt \
        -o m.ctt --epochs 1 --batch 2 --threads 1 --fps 12
    says 0 '' "$bin/convtt-infer" m.ctt --threads 1 --fps 12 lists/pics
    [ "$(grep -c '^ *100%' out)" -le 1 ] || fail "not one clip: $(cat out)"
    grep -q 'pics#@12' out || fail "no clip of frames: $(cat out)"
fi
says 2 'fps' "$bin/convtt-infer" m.ctt --fps -1 lists/videos

# 6. Folders per class without splits, for each use of its own; a clip may be a
# folder of frames.
n=0
for use in fit pick prove; do
    mkdir -p $use/run/seen $use/walk
    n=$((n + 1))
    cp lists/videos/v$n.$ending $use/walk/
    for i in 1 2 3; do
        { printf 'P6\n4 4\n255\n'; head -c 48 /dev/zero | tr '\0' "\\3$i$n"; } \
            > $use/run/seen/$i.ppm
    done
done
learn() {
    "$bin/convtt-train" tiny.net -o m.ctt --epochs 1 --batch 2 --threads 1 "$@"
}
says 0 '^validation: 2 clips of 2 classes$' learn --data fit --val pick
says 0 'run +1 +[0-9]+%' learn --data fit --val pick
says 0 '^test: 2 clips of 2 classes$' learn --data fit --test prove
says 0 '^m.ctt on prove \(2 clips\)' learn --data fit --test prove
rm -r pick/walk
says 0 'validation: only 1 of the 2 classes have clips' learn --data fit \
    --val pick
mkdir pick/fly
cp lists/videos/v4.$ending pick/fly
for use in --val --test; do
    says 2 "pick: class 'fly' is none of the model's 2 classes" learn \
        --data fit $use pick -o no.ctt
done
says 2 "pick: no split 'odd', as it has no splits" learn --data fit --val pick \
    --val-split odd -o no.ctt
[ ! -e no.ctt ] || fail "written with other classes"

# 7. H.264 with B frames has no times of frames in AVI, and half of their
# durations: its last frames count as in MP4.
if type -P ffmpeg > /dev/null; then
    for n in 3 10; do
        ffmpeg -v error -f lavfi -i testsrc=s=32x32:r=10:d=3 -frames:v $n \
            -c:v libx264 -bf 2 -pix_fmt yuv420p b$n.mp4 &&
            ffmpeg -v error -i b$n.mp4 -c copy b$n.avi || break
        for ending in mp4 avi; do
            "$bin/convtt-infer" m.ctt --observe 1 --json b$n.$ending |
                grep -o '"seconds":[0-9.]*' > seconds.$ending
        done
        cmp seconds.mp4 seconds.avi ||
            fail "AVI of $n frames: $(cat seconds.avi), $(cat seconds.mp4)"
    done
fi

# 8. What is wrong is said in a line.
printf 'file,class,start_s,end_s\nvideos/v1,a,0,1\nvideos/v2,b,2,1\n' \
    > lists/bad.csv
says 1 'bad.csv:3: not a video, start, end' "$data" list lists/bad.csv
head -c 90 lists/activity.json > lists/cut.json
says 1 'cut.json:2: ' "$data" list lists/cut.json
exit $failed
