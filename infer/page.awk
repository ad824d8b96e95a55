# SPDX-License-Identifier: Apache-2.0
# page.awk: the manual page of the library from infer.h: its comments are the
# text, its declarations the code.  The header is read twice: first for names.
function text(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    if (s ~ /^[.']/)
        s = "\\\\\\&" s
    return s
}
function code_ends() {
    if (in_code)
        print ".fi\n.RE"
    in_code = 0
}
function start() {
    printf ".TH CONVTT\\-INFER 3 \"%s\" \"convtt %s\" \"convtt\"\n", date,
        version
    printf ".SH NAME\n%s \\- run convtt models on streams of frames\n", names
    print ".SH SYNOPSIS\n.B #include <convtt/infer.h>\n.PP"
    print "cc app.c $(pkg\\-config \\-\\-cflags \\-\\-libs convtt\\-infer)"
    print ".SH DESCRIPTION"
}
FNR == 1 { pass++; comment = 0 }
FNR == 1 && pass == 2 { start() }
/^\/\*/ { comment = 1; first = 1 }
pass == 1 {
    if (!comment && /^[a-z]/ && match($0, /ctt_[a-z_]+\(/))
        names = names (names == "" ? "" : ", ") \
            substr($0, RSTART, RLENGTH - 1)
    if (/\*\//)
        comment = 0
    next
}
comment {
    line = $0
    ends = line ~ /\*\//
    sub(/^\/\* ?/, "", line)
    sub(/^ \* ?/, "", line)
    sub(/ *\*\/$/, "", line)
    code_ends()
    if (line ~ /^---- .* ----$/) {
        gsub(/^---- | ----$/, "", line)
        print ".SH " toupper(text(line))
        first = 0
        headed = 1
    } else if (line ~ /^SPDX/) {
        first = 0
    } else if (line ~ /^ *$/) {
        first = !headed
    } else {
        sub(/^infer\.h: /, "The library ", line)
        if (line ~ /^ +- /) {
            print ".IP \\(bu 2"
            sub(/^ +- /, "", line)
        } else if (first) {
            print ".PP"
        }
        sub(/^ +/, "", line)
        print text(line)
        first = headed = 0
    }
    if (ends)
        comment = 0
    next
}
/^#define CTT_INFER_VERSION/ || (!/^#/ && !/^extern "C"/ && !/^}$/ && NF) {
    if (!in_code)
        print ".PP\n.RS 4\n.nf"
    in_code = 1
    print text($0)
}
END {
    code_ends()
    print ".SH SEE ALSO\n.BR convtt\\-infer (1)"
}
