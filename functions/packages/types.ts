/** Copies the declarations that a package's entry points lead to. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';

const RELATIVE_IMPORT = /(from |import\()(['"])(\.{1,2}\/[^'"]+)\.ts\2/g;

/**
 * TypeScript leaves `.ts` in the imports of declarations; they are written as `.js` here, as every version of it
 * resolves them under every `moduleResolution`.
 *
 * @param from the compiled tree
 * @param entries declarations in it, with slashes
 */
export async function copyTypes(from: string, to: string, entries: readonly string[]): Promise<void> {
  const waiting = [...entries];
  const seen = new Set(waiting);
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const text = await readFile(join(from, file), 'utf8');
    for (const [, , , path] of text.matchAll(RELATIVE_IMPORT)) {
      const next = `${posix.join(posix.dirname(file), path ?? '')}.d.ts`;
      if (seen.has(next)) continue;
      seen.add(next);
      waiting.push(next);
    }
    await mkdir(dirname(join(to, file)), { recursive: true });
    await writeFile(join(to, file), text.replace(RELATIVE_IMPORT, '$1$2$3.js$2'));
  }
}
