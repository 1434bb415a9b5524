// What the package of src/rules-files holds: the built files that its entries load, and nothing else. Called by npm, around packing:
// rules-package.mjs fill|empty [FOLDER]
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import typescript from 'typescript';

const ROOT = join(import.meta.dirname, '..');
const BUILT = join(ROOT, 'dist');
const PACKAGE = join(ROOT, 'src', 'rules-files');
const [work, target = PACKAGE] = process.argv.slice(2);
const ENTRIES = ['rules-main.js', 'rules-files/index.js'];

const typesOf = (file) => file.replace(/[.]js$/, '.d.ts');

/** All files that an entry loads, at once or later. @throws Error where one needs a package that the manifest does not name */
function loadedFiles() {
  const { dependencies } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const files = new Set();
  const queue = ENTRIES.map((entry) => join(BUILT, entry));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const path of [file, typesOf(file)]) {
      for (const { fileName: specifier } of typescript.preProcessFile(readFileSync(path, 'utf8')).importedFiles) {
        if (specifier.startsWith('.')) queue.push(join(dirname(file), specifier));
        else if (!specifier.startsWith('node:') && !Object.hasOwn(dependencies, specifier))
          throw new Error(
            `${relative(ROOT, path)} needs ${specifier}, which src/rules-files/package.json does not name`,
          );
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
