/** Generates the code again into a folder of its own and compares it with what is checked in. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const proto = fileURLToPath(new URL('.', import.meta.url));
const checkedIn = fileURLToPath(new URL('../functions/gen', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'gen-'));
const fresh = join(folder, 'gen');
const template = join(folder, 'buf.gen.yaml');

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

try {
  writeFileSync(
    template,
    readFileSync(join(proto, 'buf.gen.yaml'), 'utf8').replace('../functions/gen', fresh),
  );
  execFileSync('buf', ['generate', '--template', template], { cwd: proto, stdio: 'inherit' });
  const names = [...new Set([...filesBelow(fresh), ...filesBelow(checkedIn)])];
  const read = (folder, name) => {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      return undefined;
    }
  };
  const stale = names.filter((name) => read(fresh, name) !== read(checkedIn, name));
  if (names.length === 0) throw new Error('buf generated nothing.');
  if (stale.length > 0) {
    console.error(`functions/gen is not what proto/ generates; run npm run gen. Stale: ${stale.join(', ')}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
