/** docs/bundles.md: its commands run, in their order, and answer what it says. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pushSamples } from '../functions/local/samples.ts';
import { type LocalService, startService } from '../functions/local/service.ts';

const run = promisify(execFile);
const root = new URL('..', import.meta.url);
const page = readFileSync(new URL('docs/bundles.md', root), 'utf8');

/** What stands in the fenced blocks of a language. */
function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, text = '']) => text,
  );
}

describe('The page of bundles', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
    await pushSamples(service.url, () => undefined);
  });
  afterAll(() => service.close());

  const sh = async (script: string): Promise<string> => {
    const local = script
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replaceAll(/^curl/gm, 'curl -sS --fail-with-body');
    return (await run('bash', ['-ec', local], { cwd: root })).stdout;
  };

  it('shows commands that work, and what they answer', async () => {
    const [pools = '', validate = '', plan = '', ownNodes = '', stored = '', ...more] = blocks('sh');
    expect(more).toEqual([]);
    expect(await sh(pools)).toContain('"poolName":"h100"');

    const [shown = ''] = blocks('json');
    const { etag, ...found } = JSON.parse(await sh(validate));
    expect({ ...found, etag: 'W/"…"' }).toEqual(JSON.parse(shown));
    expect(etag).toMatch(/^W\/".{43}\.json"$/);

    const [planned] = JSON.parse(await sh(plan)).bundles;
    expect(planned.outcome).toBe('placed');
    // The primary stands on both nodes of the samples that have H100s.
    expect(planned.copies[1].degraded.map((d: { domain: string }) => d.domain)).toContain('node');

    const response = JSON.parse(await sh(ownNodes));
    expect([response.bundles[0].copies[0].placements[0].node.nodeId, response.etag]).toEqual(['n1', '']);

    expect(await sh(stored)).toContain('"bundleId":"live-1"');
  });

  it('shows a program that works', async () => {
    const [program = ''] = blocks('ts');
    // Within the repository the root package exports what the published one does.
    const local = program.replace('@resource-map/client', 'resource-map');
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', local], { cwd: root });
    expect(stdout).toBe(
      'Job "encode" needs capacity 12, and the best profile of pool "edge" offers 8.\nunplaced\n',
    );
  });
});
