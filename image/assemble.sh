#!/bin/sh
# Everything of ours that the image holds, made from a checkout: called by the Dockerfile, and by the test that runs the result
# where no images can be built. Usage: assemble.sh ROOT, in a folder with what .dockerignore lets through. Needs Node and npm.
set -eu
root=$1
app=$root/app
mkdir -p "$app" "$root/tmp"

npm ci --no-audit --no-fund
npm run build
# No embedded database, no build tools; none of what is left has anything to run when it is installed.
npm prune --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

cp -R dist migrations node_modules package.json LICENSE "$app"
cd "$app"
# What nothing loads at run time: declarations, sources, maps, tests, manuals, builds for browsers.
find dist node_modules -type f \( \
  -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.flow' -o -name '*.tsbuildinfo' -o -name '.built-*' \
  -o -iname '*.md' -o -iname '*.markdown' -o -name '*.spec.js' \) ! -iname 'licen[cs]e*' -delete
rm -rf node_modules/.bin node_modules/.package-lock.json node_modules/@types \
  node_modules/typeorm/browser node_modules/rxjs/src node_modules/rxjs/dist/bundles node_modules/rxjs/dist/esm5 \
  node_modules/libphonenumber-js/bundle node_modules/es-toolkit/dist/browser.global.js \
  node_modules/luxon/build/global node_modules/luxon/build/amd node_modules/luxon/build/es6
find node_modules -depth -type d \( -name test -o -name tests -o -name __tests__ -o -name benchmarks -o -name examples \) \
  -path 'node_modules/*/*' -exec rm -rf {} +
find . -type d -empty -delete
chmod -R a+rX,go-w .
