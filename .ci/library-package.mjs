// What the package of a folder in src holds: the built files that its entries load, and nothing else. Called by npm, around packing:
// library-package.mjs fill|empty FOLDER [TARGET], where FOLDER has the manifest
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import typescript from 'typescript';

const ROOT = join(import.meta.dirname, '..');
const BUILT = join(ROOT, 'dist');
const [work, folder, target = folder] = process.argv.slice(2);
const manifestFile = resolve(folder, 'package.json');
const { bin = {}, exports, dependencies } = JSON.parse(readFileSync(manifestFile, 'utf8'));
const ENTRIES = [...Object.values(bin), exports['.'].default];

const typesOf = (file) => file.replace(/[.]js$/, '.d.ts');

/** All files that an entry loads, at once or later. @throws Error where one needs a package that the manifest does not name */
function loadedFiles() {
  const files = new Set();
  const queue = ENTRIES.map((entry) => resolve(ROOT, entry));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const path of [file, typesOf(file)]) {
      for (const { fileName: specifier } of typescript.preProcessFile(readFileSync(path, 'utf8')).importedFiles) {
        if (specifier.startsWith('.')) queue.push(join(dirname(file), specifier));
        else if (!specifier.startsWith('node:') && !Object.hasOwn(dependencies, specifier))
          throw new Error(`${relative(ROOT, path)} needs ${specifier}, which ${manifestFile} does not name`);
      }
    }
  }
  return [...files];
}

for (const name of ['dist', 'LICENSE']) rmSync(join(target, name), { recursive: true, force: true });
if (work === 'fill') {
  for (const file of loadedFiles()) {
    for (const path of [file, typesOf(file)]) cpSync(path, join(target, 'dist', relative(BUILT, path)));
  }
  cpSync(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
}
