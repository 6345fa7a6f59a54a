/**
 * Has schemathesis call the service with what the document allows and what it does not: no response
 * may be a failure of the service, or other than the document says. `npm run test:schemathesis`; what follows
 * `--` goes to schemathesis, such as `-- --include-path '/v1/bundles/{id}'`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type GuardedService, startGuardedService } from '../auth/guarded-service.ts';
import { pythonPrograms } from '../builders/python-programs.ts';

const SCHEMATHESIS = 'schemathesis==4.32.5';
const CONFIG = fileURLToPath(new URL('schemathesis.toml', import.meta.url));
const SAMPLES = new URL('../../functions/local/samples/', import.meta.url);
/** The cluster of the agent in the configuration. */
const AGENT_CLUSTER = 'kops-l4';
/** Several times what a run takes. */
const LIMIT_MS = 15 * 60_000;

// The SDK tells every process on Node 20 that its future versions want a newer one.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const programs = await pythonPrograms([SCHEMATHESIS], ['schemathesis']);
if ('bin' in programs) process.exitCode = await run(join(programs.bin, 'schemathesis'));
// One line, whatever pip had to say.
else console.log(`Skipped: ${SCHEMATHESIS} cannot be had (${programs.missing.replace(/\s+/g, ' ')}).`);

/** @returns the exit code */
async function run(program: string): Promise<number> {
  const service = await startGuardedService();
  // It keeps what it found where it runs.
  const folder = await mkdtemp(join(tmpdir(), 'schemathesis-'));
  try {
    const agent = await pushSamples(service);
    const scheduler = await service.issue('SCHEDULER');
    const child = spawn(
      program,
      ['--config-file', CONFIG, 'run', `${service.url}/openapi.json`, ...process.argv.slice(2)],
      {
        cwd: folder,
        stdio: 'inherit',
        env: {
          ...process.env,
          AGENT_TOKEN: agent,
          SCHEDULER_TOKEN: scheduler,
          ADMIN_TOKEN: service.adminToken,
        },
        timeout: LIMIT_MS,
      },
    );
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) {
      const failures = service
        .log()
        .split('\n')
        .filter((line) => line.includes('"level":"error"'));
      console.log(`What the service logged of its own failures:\n${failures.slice(0, 20).join('\n')}`);
    }
    // A run that was cut off has shown nothing.
    return code ?? 1;
  } finally {
    await service.close();
    await rm(folder, { recursive: true });
  }
}

/** @returns the token of the agent of {@link AGENT_CLUSTER} */
async function pushSamples(service: GuardedService): Promise<string> {
  let agent = '';
  for (const file of readdirSync(SAMPLES).filter((name) => name.endsWith('.json'))) {
    const snapshot = JSON.parse(readFileSync(new URL(file, SAMPLES), 'utf8')) as {
      cluster: { clusterId: string };
    };
    const { clusterId } = snapshot.cluster;
    const token = await service.issue('AGENT', clusterId);
    const response = await service.call(`PUT /v1/clusters/${clusterId}/snapshot`, { token, body: snapshot });
    if (response.status !== 200) throw new Error(`${file} was refused: ${JSON.stringify(response.body)}`);
    if (clusterId === AGENT_CLUSTER) agent = token;
  }
  return agent;
}
