import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pushSamples } from '../functions/local/samples.ts';
import { type LocalService, startService } from '../functions/local/service.ts';

const run = promisify(execFile);
const root = new URL('..', import.meta.url);
/** Every command of every shell block, with lines that end in a backslash joined. */
function commandsOf(page: string): readonly string[] {
  return [...page.matchAll(/```sh\n(.*?)```/gs)]
    .flatMap(([, block]) => (block ?? '').replaceAll('\\\n', ' ').split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

describe.each([
  { name: 'README.md', atLeast: 3 },
  { name: 'docs/api.md', atLeast: 18 },
])('$name', ({ name, atLeast }) => {
  const page = readFileSync(new URL(name, root), 'utf8');
  let service: LocalService;

  beforeAll(async () => {
    service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
    await pushSamples(service.url, () => undefined);
  });
  afterAll(async () => {
    await service.close();
  });

  const curls = commandsOf(page).filter((command) => command.startsWith('curl'));

  it('shows curl commands', () => {
    expect(curls.length).toBeGreaterThanOrEqual(atLeast);
  });

  it.each(curls)('shows a command that works: %s', async (command) => {
    const local = command
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replace(/^curl/, 'curl -sS --fail-with-body');
    // The commands stand in the order of the page, and the DELETE comes after what needs its cluster.
    const { stdout } = await run('bash', ['-c', local], { cwd: root, maxBuffer: 1 << 26 });
    expect(stdout).not.toBe('');
  });

  it('shows a program that follows the map, and that works', async () => {
    const [, program = ''] = /```ts\n(.*?)```/s.exec(page) ?? [];
    const client = new URL('functions/client/index.ts', root).href;
    const asTest = program
      .replace("'@resource-map/client'", JSON.stringify(client))
      .replace('http://127.0.0.1:8080', service.url);
    expect(asTest).toContain(client);
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', asTest], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    child.kill();
    expect(line.toString()).toMatch(/^\d+ clusters, as of now\n/);
  });
});

describe('Links between pages', () => {
  const docs = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' });
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'SECURITY.md',
    ...docs.filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`),
  ];

  it.each(pages)('%s links to files and headings that exist', (name) => {
    const url = new URL(name, root);
    const links = [...readFileSync(url, 'utf8').matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(
      ([, link = '']) => link,
    );
    const broken = links.filter((link) => {
      const target = new URL(link, url);
      if (!existsSync(target)) return true;
      const anchor = target.hash.slice(1);
      return anchor !== '' && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    });
    expect(broken).toEqual([]);
  });
});

/** The anchors that GitHub gives a page's headings. */
function anchorsOf(page: string): readonly string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
