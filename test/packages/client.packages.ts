/** The client as it is published, in an empty project. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pushSamples } from '../../functions/local/samples.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { chromiumPath } from '../page/browser.ts';
import { examplesOf, undocumentedExports } from './examples.ts';
import { brokenLinks } from './links.ts';
import { emptyProject, folderOf, pack, ROOT, run } from './packed.ts';

/** Megabytes as npm counts them. */
const MAX_INSTALLED_BYTES = 3_000_000;
const MAX_BROWSER_GZIP_BYTES = 45_000;

const ENTRIES = ['index', 'bundle'] as const;

let tarballs: string;
let project: string;
let service: LocalService;

beforeAll(async () => {
  tarballs = await mkdtemp(join(tmpdir(), 'resource-map-tarballs-'));
  project = await emptyProject(await pack('client', tarballs));
  service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
  await pushSamples(service.url, () => undefined);
});

afterAll(async () => {
  await service.close();
  for (const folder of [tarballs, project]) await rm(folder, { recursive: true, force: true });
});

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile());
}

/** A program that uses what most clients do. */
const PROGRAM = `
  import { createClaimClient, createClient, MapReplica } from '@resource-map/client';
  const options = { baseUrl: globalThis.location?.origin ?? process.argv[2] };
  export const replica = new MapReplica(createClient(options));
  await replica.pull();
  const map = await createClient(options).map();
  const { claims } = await createClaimClient(options).list();
  globalThis.result = { clusters: replica.clusters.size, same: replica.etag === map.etag, claims: claims.length };
`;

describe('@resource-map/client', () => {
  it('brings one package along, and both have less than 3 MB', () => {
    const installed = filesIn(join(project, 'node_modules')).filter((file) => !file.includes('/.'));
    const packages = new Set(installed.map((file) => /node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(file)?.[1]));
    expect([...packages].sort()).toEqual(['@bufbuild/protobuf', '@resource-map/client']);
    const bytes = installed.reduce((sum, file) => sum + statSync(file).size, 0);
    console.log(`Installed: ${bytes} bytes.`);
    expect(bytes).toBeLessThan(MAX_INSTALLED_BYTES);
  });

  it('passes publint', async () => {
    const { stdout } = await run('npx', ['publint', '--strict', folderOf('client')], { cwd: ROOT });
    expect(stdout).toContain('All good!');
  });

  it('has types that are those of its modules, for every resolution of ES modules', async () => {
    const { stdout } = await run(
      'npx',
      [
        'attw',
        '--pack',
        folderOf('client'),
        '--profile',
        'esm-only',
        '--no-color',
        '--no-emoji',
        '--format',
        'ascii',
      ],
      { cwd: ROOT },
    );
    // It exits with 1 if anything but what the profile ignores is wrong.
    expect(stdout.match(/node16 \(from ESM\): OK|bundler: OK/g)).toHaveLength(8);
  });

  it('has a README and pages whose links lead to files of the tarball', () => {
    expect(brokenLinks(join(project, 'node_modules/@resource-map/client'))).toEqual([]);
  });

  it.each([
    { module: 'esnext', moduleResolution: 'bundler', types: [] },
    { module: 'node16', moduleResolution: 'node16', types: [] },
    { module: 'nodenext', moduleResolution: 'nodenext', types: [] },
  ])(
    'compiles under $moduleResolution, its own declarations checked and without types of Node',
    async (how) => {
      const compilerOptions = {
        ...how,
        target: 'es2022',
        lib: ['es2022', 'dom', 'dom.asynciterable', 'esnext.disposable'],
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
      };
      await writeFile(
        join(project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, include: ['examples/*.ts'] }),
      );
      await writeExamples();
      const { stdout } = await run(process.execPath, [
        join(ROOT, 'node_modules/typescript/bin/tsc'),
        '-p',
        project,
      ]).catch((error: { stdout: string }) => error);
      expect(stdout).toBe('');
    },
  );

  it.each(ENTRIES)('has an example on each function and class that %s exports', async (entry) => {
    expect(await undocumentedExports(folderOf('client'), entry)).toEqual([]);
  });

  it('runs in Node', async () => {
    await writeFile(
      join(project, 'program.mjs'),
      `${PROGRAM}\nconsole.log(JSON.stringify(globalThis.result));`,
    );
    const { stdout } = await run(process.execPath, ['program.mjs', service.url], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({ clusters: 5, same: true, claims: 0 });
  });

  it('exports every message of the API, and nothing of the storage', async () => {
    const program =
      "import * as all from '@resource-map/client'; console.log(JSON.stringify(Object.keys(all)));";
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: project });
    const exported = new Set(JSON.parse(stdout) as readonly string[]);
    const generated = ['v1/access', 'v1/capacity', 'v1/claims', 'v1/events', 'v1/resource_map', 'v1/service']
      .concat(['bundle/v1/bundle', 'bundle/v1/plan', 'bundle/v1/pool'])
      .flatMap((file) => {
        const text = readFileSync(join(ROOT, `functions/gen/resourcemap/${file}_pb.ts`), 'utf8');
        return [...text.matchAll(/^export (?:const|enum) (\w+)/gm)].map(([, name]) => name ?? '');
      })
      .filter((name) => !name.startsWith('file_'));
    expect(generated.filter((name) => !exported.has(name))).toEqual([]);
    expect(exported.has('LedgerSchema')).toBe(false);
  });

  it('runs in Chromium, within 45 KB of gzip', async () => {
    const bundled = await build({
      stdin: { contents: PROGRAM, resolveDir: project },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      write: false,
    });
    const script = bundled.outputFiles[0]?.text ?? '';
    const bytes = gzipSync(script, { level: 9 }).length;
    console.log(`Browser bundle of client, replica and claims: ${bytes} bytes in gzip.`);
    expect(bytes).toBeLessThan(MAX_BROWSER_GZIP_BYTES);

    const server = await serve(script);
    const browser = await chromium.launch({ executablePath: chromiumPath ?? '', args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/program.html`);
      await page.locator('body[data-done]').waitFor({ state: 'attached', timeout: 20_000 });
      expect(errors).toEqual([]);
      expect(await page.evaluate('globalThis.result')).toEqual({ clusters: 5, same: true, claims: 0 });
    } finally {
      await browser.close();
      server.close();
    }
  });
});

/** Every example of the declarations as a program of its own. */
async function writeExamples(): Promise<void> {
  const folder = join(project, 'examples');
  await rm(folder, { recursive: true, force: true });
  await run('mkdir', ['-p', folder]);
  const examples = [...new Set(filesIn(join(folderOf('client'), 'types')).flatMap(examplesOf))].filter(
    (text) => !text.includes('@connectrpc/'),
  );
  expect(examples.length).toBeGreaterThan(25);
  for (const [at, text] of examples.entries()) await writeFile(join(folder, `example-${at}.ts`), text);
}

/** The program's own page, in front of the service: a browser's client is of the service's origin. */
async function serve(script: string): Promise<Server> {
  const done = "\ndocument.body.dataset.done = 'yes';";
  const server = createServer(async (request, response) => {
    if (request.url === '/program.html') {
      response.setHeader('content-type', 'text/html');
      return response.end('<!doctype html><body><script type="module" src="/program.js"></script></body>');
    }
    if (request.url === '/program.js') {
      response.setHeader('content-type', 'text/javascript');
      return response.end(script + done);
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _host, connection: _connection, origin: _origin, ...headers } = request.headers;
    const body = Buffer.concat(chunks);
    const answer = await fetch(`${service.url}${request.url}`, {
      method: request.method ?? 'GET',
      headers: Object.entries(headers).filter(
        ([name]) => name !== 'content-length' && !name.startsWith('sec-'),
      ) as [string, string][],
      ...(body.length === 0 ? {} : { body }),
    });
    response.statusCode = answer.status;
    for (const name of ['content-type', 'etag']) {
      const value = answer.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    return response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
