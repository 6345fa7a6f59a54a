import { describe, expect, it } from 'vitest';
import { failureOf, UsageError } from '../../functions/cli/failure.ts';
import { ApiError, ConnectionError, UnexpectedResponseError } from '../../functions/client/errors.ts';

const api = (status: number, code: string, detail = 'No.', more = {}) =>
  new ApiError({ status, code, detail, requestId: 'r', ...more });

describe('What ends a command has an exit code:', () => {
  it.each([
    [1, 'a refusal', api(422, 'invalid_snapshot')],
    [1, 'a conflict', api(409, 'counter_reused')],
    [2, 'a wrong command line', new UsageError('wrong')],
    [3, 'a service that is too busy for the caller', api(429, 'too_many_waits')],
    [3, 'a service that cannot at the moment', api(503, 'store_unavailable')],
    [3, 'a service that failed', api(500, 'internal')],
    [3, 'no answer', new ConnectionError('GET', 'http://a', new Error('gone'))],
    [3, 'the answer of something else', new UnexpectedResponseError('GET', 'http://a', 'a page')],
    [4, 'a fault of rmap', new TypeError('x is undefined')],
    [4, 'what is no error at all', 'thrown'],
  ])('%i for %s', (code, _, thrown) => {
    expect(failureOf(thrown).exitCode).toBe(code);
  });

  it('tells where a fault of rmap is, and the request of a fault of the service', () => {
    const { lines } = failureOf(new TypeError('x\u001b is undefined'));
    expect(lines.slice(0, 2)).toEqual([
      'Internal error in rmap. Please report it with this stack trace:',
      'TypeError: x\\u001b is undefined',
    ]);
    expect(lines[2]).toMatch(/^ {4}at /);
    expect(failureOf(api(500, 'internal')).lines).toEqual(['[internal] No.', '  request id r']);
  });
});

describe('A change that an earlier try may have made', () => {
  const reported = (code: string, possiblyApplied: boolean) =>
    failureOf(new ApiError({ status: 404, code, detail: 'None.' }, { possiblyApplied })).lines;

  it('is in doubt, and nothing else is', () => {
    expect(reported('grant_not_found', true)).toEqual([
      '[grant_not_found] None.',
      '  An earlier try, whose answer was lost, may have done it.',
    ]);
    expect(reported('grant_not_found', false)).toEqual(['[grant_not_found] None.']);
    expect(reported('cluster_not_found', true)).toEqual(['[cluster_not_found] None.']);
  });
});

describe('A refusal is told in terms of rmap:', () => {
  it.each([
    [
      'forbidden',
      'GET /v1/tokens is not for the role scheduler; it is for admin.',
      'The command is not for the role scheduler; it is for admin.',
    ],
    [
      'invalid_cluster_id',
      'The cluster id in the URL has 300 bytes; at most 253 are taken.',
      'The cluster id has 300 bytes; at most 253 are taken.',
    ],
    [
      'map_too_large',
      'The answer has 9 bytes of gzip, and this deployment can carry 8; fetch it in parts with POST /v1/map/sync, or narrow it with a filter.',
      'The answer has 9 bytes of gzip, and this deployment can carry 8; rmap get --watch fetches the map in parts, and filters such as --cluster and --region narrow it.',
    ],
    [
      'grant_not_found',
      'There is no token "0"; GET /v1/tokens lists them, and the first 12 digits of an id will do.',
      'There is no token "0"; rmap token list lists them, and the first 12 digits of an id will do.',
    ],
    [
      'grant_not_found',
      'There is no registration "0"; GET /v1/registrations lists them, and the first 12 digits of an id will do.',
      'There is no registration "0"; rmap trust list lists them, and the first 12 digits of an id will do.',
    ],
    [
      'grant_exists',
      'This issuer, audience and subject are registered as 0123456789ab; remove that one first.',
      'This issuer, audience and subject are registered as 0123456789ab; rmap trust remove takes that one away.',
    ],
    [
      'too_many_listeners',
      '16 listeners of this caller are connected, which is the most for one. End one of them.',
      '16 listeners of this caller are connected, which is the most for one. End another rmap events.',
    ],
    [
      'too_many_waits',
      '16 answers are held for this caller, which is the most for one. End some of these requests, or ask without "Prefer: wait".',
      'Too many requests of this caller wait for changes; end another rmap get --watch that has the same token.',
    ],
    // What a newer service says in other words is told as it is.
    ['pool_not_found', 'Gone fishing.', 'Gone fishing.'],
    ['constructor', 'A code of a newer service.', 'A code of a newer service.'],
  ])('%s', (code, said, reported) => {
    expect(failureOf(api(400, code, said)).lines).toEqual([`[${code}] ${reported}`]);
  });
});
