#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# autogen.sh: makes configure and Makefile.in from a checkout.
set -e
cd "$(dirname "$0")"
mkdir -p m4 build-aux
autoreconf --force --install "$@"
