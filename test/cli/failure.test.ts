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
    [3, 'no response', new ConnectionError('GET', 'http://a', new Error('gone'))],
    [3, 'the response of something else', new UnexpectedResponseError('GET', 'http://a', 'a page')],
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
      '  An earlier try, whose response was lost, may have done it.',
    ]);
    expect(reported('grant_not_found', false)).toEqual(['[grant_not_found] None.']);
    expect(reported('cluster_not_found', true)).toEqual(['[cluster_not_found] None.']);
  });
});

describe('A refusal is worded in terms of rmap, from the members of the problem:', () => {
  it.each([
    [
      'forbidden',
      { field: 'role', value: 'scheduler', allowedRoles: ['agent', 'admin'] },
      'The command is not for the role scheduler; it is for agent and admin.',
    ],
    [
      'not_found',
      { value: '/x/v1/map' },
      'No route matches /x/v1/map; --url or RMAP_URL takes the address of a Resource Map, without a path of its API.',
    ],
    [
      'cluster_not_found',
      { value: 'c"1' },
      'No cluster "c\\"1" is known; rmap clusters lists those that are.',
    ],
    ['pool_not_found', { value: 'p' }, 'No pool "p" is configured; rmap pool list lists those that are.'],
    [
      'claim_not_found',
      { field: 'claim', value: '0' },
      'No claim 0 is known in this cluster; rmap claim list lists those that are live. Ended ones are forgotten after 2 minutes.',
    ],
    [
      'grant_not_found',
      { field: 'token', value: '0' },
      'There is no token "0"; rmap token list lists them, and the first 12 digits of an id will do.',
    ],
    [
      'grant_not_found',
      { field: 'registration', value: '0' },
      'There is no registration "0"; rmap trust list lists them, and the first 12 digits of an id will do.',
    ],
    [
      'grant_exists',
      { field: 'subject', value: '0123456789ab' },
      'This issuer, audience and subject are registered as 0123456789ab; rmap trust remove takes that one away.',
    ],
    [
      'too_many_listeners',
      { limit: 16 },
      '16 event streams of this caller are open, which is the most for one; end another rmap events.',
    ],
    [
      'too_many_waits',
      { limit: 16 },
      '16 requests of this caller wait for changes, which is the most for one; end another rmap get --watch that has the same token.',
    ],
  ])('%s', (code, members, reported) => {
    expect(failureOf(api(400, code, 'In words of HTTP.', members)).lines).toEqual([`[${code}] ${reported}`]);
    // Without the members, as of an older service, the detail is shown as it is.
    expect(failureOf(api(400, code, 'In words of HTTP.')).lines).toEqual([`[${code}] In words of HTTP.`]);
  });

  it('shows the detail of a code that it does not know', () => {
    expect(failureOf(api(400, 'constructor', 'Of a newer service.', { value: 'x' })).lines).toEqual([
      '[constructor] Of a newer service.',
    ]);
  });

  it('names options in place of the fields of a registration, and the option against a jump', () => {
    const finding = { code: 'invalid_value', severity: 'reject', path: 'jwks_uri', message: 'No.' };
    expect(failureOf(api(422, 'invalid_grant_request', 'No. No.', { findings: [finding] })).lines).toEqual([
      '[invalid_grant_request] The service rejects these options:',
      '  reject invalid_value --jwks-uri: No.',
    ]);
    const jump = { ...finding, code: 'counter_jump', path: 'logical_counter' };
    expect(failureOf(api(422, 'invalid_snapshot', 'No.', { findings: [jump] })).lines).toEqual([
      '[invalid_snapshot] No.',
      '  reject counter_jump logical_counter: No. (rmap push --allow-jump)',
    ]);
  });
});
