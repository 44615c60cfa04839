#!/bin/sh
# Prints the size of the file system that holds a folder as JSON: free.sh FOLDER
set -eu
space=$(df -Pk "$1")
echo "$space" | awk 'NR == 2 { printf "{\"size_kib\": %d, \"used_kib\": %d, \"free_kib\": %d}\n", $2, $3, $4 }'
