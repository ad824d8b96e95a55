/* SPDX-License-Identifier: Apache-2.0
 * opt_complete.c: completion of a program's options by bash and by zsh, as
 * functions of the shells, printed to stdout. */
#include "base/opt_inside.h"

#include <ctype.h>
#include <string.h>

/* Calls print for each row of the program, or of each of its commands. */
static void each_row(const struct ctt_program *p,
                     void (*print)(const struct ctt_opt *o))
{
    for (const struct ctt_opt *o = p->opts; o && o->name; o++)
        print(o);
}

/* The name of a program as part of a function's: "convtt_train". */
static void print_name(const struct ctt_program *p)
{
    for (const char *c = p->name; *c; c++)
        putchar(isalnum((unsigned char)*c) ? *c : '_');
}

/* ---- bash ---- */

static void print_word(const struct ctt_opt *o)
{
    printf(" --%s%s", o->name, o->type == CTT_FLAG ? "" : "=");
}

static void print_words(const struct ctt_program *p)
{
    printf("        COMPREPLY=($(compgen -W '");
    each_row(p, print_word);
    printf(" --help --version' -- \"$word\"))\n");
}

/* A case of the option before "=", which has these values. */
static void print_values(const struct ctt_opt *o)
{
    if (!o->choices)
        return;
    printf("    --%s)\n        COMPREPLY=($(compgen -W '", o->name);
    for (int i = 0; o->choices[i]; i++)
        printf("%s%s", i ? " " : "", o->choices[i]);
    printf("' -- \"$word\"))\n        return ;;\n");
}

static void print_bash_options(const struct ctt_program *p)
{
    printf("    case $option in\n");
    each_row(p, print_values);
    printf("    esac\n    case $word in\n    -*)\n");
    print_words(p);
    printf("        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace ;;\n"
           "    *)\n        COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "        compopt -o filenames ;;\n    esac\n");
}

static void print_bash_commands(const struct ctt_program *p)
{
    printf("    if [ $COMP_CWORD = 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (const struct ctt_program *c = p->commands; c->name; c++)
        printf("%s ", strrchr(c->name, ' ') + 1);
    printf("--help --version' -- \"$word\"))\n        return\n    fi\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (const struct ctt_program *c = p->commands; c->name; c++) {
        printf("    %s)\n", strrchr(c->name, ' ') + 1);
        print_bash_options(c);
        printf("    ;;\n");
    }
    printf("    esac\n");
}

/* Bash takes "--name=value" for three words. */
void ctt_opt_bash(const struct ctt_program *p)
{
    printf("# Completion of %s by bash.\n_", p->name);
    print_name(p);
    printf("()\n{\n    local word=$2 option=$3\n    COMPREPLY=()\n"
           "    if [ \"$option\" = = ]; then\n"
           "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    elif [ \"$word\" = = ]; then\n        word=\n    fi\n");
    if (p->commands)
        print_bash_commands(p);
    else
        print_bash_options(p);
    printf("}\ncomplete -F _");
    print_name(p);
    printf(" %s\n", p->name);
}

/* ---- zsh ---- */

/* Text inside single quotes of an _arguments specification. */
static void print_quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr("[]:\\", *text) ? "\\" : "", *text);
    }
}

static void print_spec(const struct ctt_opt *o)
{
    char text[CTT_OPT_TEXT];

    printf(" \\\n        '--%s%s[", o->name, o->type == CTT_FLAG ? "" : "=");
    ctt_opt_brief(o, text);
    print_quoted(text);
    printf("]");
    if (o->choices) {
        printf(":%s:(", o->name);
        for (int i = 0; o->choices[i]; i++)
            printf("%s%s", i ? " " : "", o->choices[i]);
        printf(")");
    } else if (o->type == CTT_STRING) {
        printf(":%s:_files", o->name);
    } else if (o->type != CTT_FLAG) {
        printf(":%s: ", o->name);
    }
    printf("'");
}

static void print_zsh_options(const struct ctt_program *p)
{
    printf("    _arguments -S");
    each_row(p, print_spec);
    printf(" \\\n        '--help[show the common options]' "
           "'--version[show the version]' '*:file:_files'\n");
}

static void print_zsh_commands(const struct ctt_program *p)
{
    printf("    if (( CURRENT == 2 )); then\n        compadd --");
    for (const struct ctt_program *c = p->commands; c->name; c++)
        printf(" %s", strrchr(c->name, ' ') + 1);
    printf(" --help --version\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n"
           "    (( CURRENT-- ))\n    case $command in\n");
    for (const struct ctt_program *c = p->commands; c->name; c++) {
        printf("    %s)\n", strrchr(c->name, ' ') + 1);
        print_zsh_options(c);
        printf("    ;;\n");
    }
    printf("    esac\n");
}

void ctt_opt_zsh(const struct ctt_program *p)
{
    printf("#compdef %s\n# Completion of %s by zsh.\n", p->name, p->name);
    if (p->commands)
        print_zsh_commands(p);
    else
        print_zsh_options(p);
}
