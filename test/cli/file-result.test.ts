import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pushCommand } from '../../functions/cli/commands/push.ts';
import { validateCommand } from '../../functions/cli/commands/validate.ts';
import { problemLine } from '../../functions/cli/file-result.ts';
import { type LocalService, startService } from '../../functions/local/service.ts';
import { runCommand } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'rmap-files-'));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const HEAD = { cluster: { clusterId: 'c' }, collectedAt: '2026-01-01T00:00:00Z' };
const GOOD = file('good.json', JSON.stringify({ ...HEAD, logicalCounter: '7' }));
const UNCOUNTED = file('uncounted.json', JSON.stringify(HEAD));
const MISTYPED = file('mistyped.json', '{"job":[]}');
const TRUNCATED = file('truncated.json', '{');
const EMPTY = file('empty.json', '');

const jsonLines = (text: string): unknown[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const MISTYPED_PROBLEM = {
  code: 'malformed_json',
  detail:
    'The body is no resourcemap.v1.ClusterResourceMap in ProtoJSON: job: ClusterResourceMap has no field "job"; did you mean "jobs"?',
  findings: [
    {
      code: 'unknown_field',
      severity: 'reject',
      path: 'job',
      message: 'ClusterResourceMap has no field "job"; did you mean "jobs"?',
    },
  ],
};
const EMPTY_PROBLEM = { code: 'usage', detail: `${EMPTY} is empty.` };
const MISSING_COUNTER = {
  code: 'missing_counter',
  severity: 'reject',
  path: 'logical_counter',
  message: 'logical_counter is 0, which is unset; start at 1 and raise it for every push',
};

describe('rmap validate --json', () => {
  it('prints one line a file, whatever is in it, and the text of what cannot be read beside it', async () => {
    const { code, stdout, stderr } = await runCommand(
      validateCommand(),
      '--json',
      MISTYPED,
      GOOD,
      EMPTY,
      TRUNCATED,
      UNCOUNTED,
    );
    expect(jsonLines(stdout)).toEqual([
      { file: MISTYPED, valid: false, problem: MISTYPED_PROBLEM },
      { file: GOOD, valid: true, findings: [], omittedFindings: 0 },
      { file: EMPTY, valid: false, problem: EMPTY_PROBLEM },
      {
        file: TRUNCATED,
        valid: false,
        problem: { code: 'malformed_json', detail: expect.stringMatching(/^The body is not valid JSON: /) },
      },
      { file: UNCOUNTED, valid: false, findings: [MISSING_COUNTER], omittedFindings: 0 },
    ]);
    expect(stderr).toContain(`${MISTYPED}: [malformed_json] `);
    expect(stderr).toContain(`${EMPTY} is empty.\n`);
    expect(code).toBe(2);
  });
});

describe('rmap push --json', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService({ engine: { kind: 'memory' }, port: 0, host: '127.0.0.1' });
  });
  afterAll(() => service.close());

  it('prints one line a file, with the findings of what is refused', async () => {
    const older = file('older.json', JSON.stringify({ ...HEAD, logicalCounter: '6' }));
    const unnamed = file('unnamed.json', JSON.stringify({ ...HEAD, cluster: {}, logicalCounter: '1' }));
    const { code, stdout, stderr } = await runCommand(
      pushCommand(),
      '--json',
      '--url',
      service.url,
      ...[GOOD, older, UNCOUNTED, unnamed, MISTYPED, EMPTY],
    );
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({ file: GOOD, outcome: 'PUSH_OUTCOME_PUBLISHED', logicalCounter: '7' }),
      {
        file: older,
        problem: {
          code: 'counter_regressed',
          detail: 'Counter 6 of cluster "c" is below 7, which was accepted before; use 8 or above.',
          highWaterMark: '7',
          requestId: expect.any(String),
        },
      },
      {
        file: UNCOUNTED,
        problem: {
          code: 'invalid_snapshot',
          detail: 'The snapshot breaks a rule; the map keeps the last good one.',
          findings: [MISSING_COUNTER],
          requestId: expect.any(String),
        },
      },
      {
        file: unnamed,
        problem: {
          code: 'invalid_snapshot',
          detail: 'The snapshot breaks a rule; the map keeps the last good one.',
          findings: [expect.objectContaining({ code: 'missing_cluster_id' })],
        },
      },
      { file: MISTYPED, problem: MISTYPED_PROBLEM },
      { file: EMPTY, problem: EMPTY_PROBLEM },
    ]);
    expect(stderr).toContain(`${older}: [counter_regressed] `);
    expect(code).toBe(2);
  });

  it('says that no service answered', async () => {
    const { code, stdout } = await runCommand(pushCommand(), '--json', '--url', 'http://127.0.0.1:1', GOOD);
    expect(jsonLines(stdout)).toEqual([
      {
        file: GOOD,
        problem: {
          code: 'connection_failed',
          detail: expect.stringMatching(/^PUT http:\/\/127\.0\.0\.1:1\/v1\/clusters\/c\/snapshot: /),
        },
      },
    ]);
    expect(code).toBe(3);
  });

  it('says that rmap failed, of what is none of these', () => {
    expect(JSON.parse(problemLine('f', new TypeError('x is undefined')))).toEqual({
      file: 'f',
      problem: { code: 'fault', detail: 'x is undefined' },
    });
  });
});
