#!/usr/bin/env bash
# Usage: tools/push_folder.sh FOLDER BRANCH
#
# Make a branch of origin hold the files of a folder and nothing else, as one commit without history.
set -euo pipefail
folder=$1 branch=$2

GIT_INDEX_FILE=$(mktemp -u)  # an index of its own: the checkout's stays as it is
export GIT_INDEX_FILE
trap 'rm -f "$GIT_INDEX_FILE"' EXIT
git --work-tree="$folder" add --all --force .
tree=$(git write-tree)
commit=$(git -c user.name="the book" -c user.email="book@users.noreply" commit-tree "$tree" \
    -m "Made of $(git rev-parse --short HEAD)")
git push --force origin "$commit:refs/heads/$branch"
