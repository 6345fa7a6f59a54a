import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENTRY = 'functions/cli/rmap.ts';

let inputs: Metafile['inputs'];
beforeAll(async () => {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
  });
  inputs = metafile.inputs;
});

/** Files of the project and names of packages that are loaded with the entry, whatever the command. */
function loadedAtStart(): ReadonlySet<string> {
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const { path: imported, kind } of inputs[path]?.imports ?? []) {
      if (kind === 'import-statement') load(imported);
    }
  };
  load(ENTRY);
  return loaded;
}

describe('rmap, whatever its command', () => {
  it('loads neither the agent nor zod, which only the agent needs', () => {
    const loaded = [...loadedAtStart()];
    expect(loaded.filter((path) => path.startsWith('functions/agent/') || path === 'zod')).toEqual([]);
    // The walk is one: it has what every command needs.
    expect(loaded).toEqual(expect.arrayContaining(['functions/cli/commands/agent.ts', 'commander']));
    expect(Object.keys(inputs)).toContain('functions/agent/agent.ts');
  });
});
