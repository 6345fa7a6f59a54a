import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { clockCommand } from '../../functions/cli/commands/clock.ts';
import { runCommand } from './run-command.ts';

/** A service that has no response yet, and says after how many seconds to ask again. */
async function busyService(...retryAfter: readonly number[]): Promise<string> {
  const waits = [...retryAfter];
  const server = createServer((_, response) => {
    const seconds = waits.shift();
    response.writeHead(seconds === undefined ? 404 : 503, { 'retry-after': String(seconds ?? 0) });
    response.end(
      JSON.stringify({ code: 'issuer_unreachable', detail: 'The keys of i\u001b cannot be had.' }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('A wait that a service asks for is told before it begins, unless it is short', async () => {
  const url = await busyService(1, 3);
  const { stderr } = await runCommand(clockCommand(), '--url', url);
  expect(stderr.split('\n')).toEqual([
    'Trying again in 3 s: [issuer_unreachable] The keys of i\\u001b cannot be had.',
    '[issuer_unreachable] The keys of i\\u001b cannot be had.',
    '',
  ]);
});
