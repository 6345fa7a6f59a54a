import { Command } from 'commander';
import { ApiError } from '../../client/errors.ts';
import { clusterChangeOf, type DeliveredEvent, eventStream } from '../../client/event-stream.ts';
import type { AcceleratorChange, ClusterChange } from '../../gen/resourcemap/v1/events_pb.ts';
import { printable } from '../../terminal/printable.ts';
import { type GlobalOptions, serviceOf, withGlobalOptions } from '../global-options.ts';
import { print } from '../print.ts';

export function eventsCommand(): Command {
  return withGlobalOptions(
    new Command('events').description('show changes of a local service as they happen, until Ctrl-C'),
  ).action(async (options: GlobalOptions) => {
    const { url, json } = options;
    const { baseUrl, token } = serviceOf(options);
    try {
      const events = eventStream({
        baseUrl,
        ...(token === undefined ? {} : { token }),
        onListening: () => process.stderr.write(`Listening to ${printable(url)}; Ctrl-C ends it.\n`),
        onInterruption: () => process.stderr.write('The stream broke off; trying again.\n'),
        onGap: () =>
          process.stderr.write(
            'Events may be missing here: the service was started again, or has dropped them.\n',
          ),
      });
      for await (const event of events) print(json ? JSON.stringify(event) : eventLine(event));
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        const { status, code } = error;
        throw new ApiError({
          status,
          code,
          detail: `${url} has no event stream, which only a local service has. In AWS a rule on the event bus brings events; docs/events.md shows some.`,
        });
      }
      throw error;
    }
  });
}

/** One line for people: when, what, where, and what became of the accelerators. */
export function eventLine(event: DeliveredEvent): string {
  const change = clusterChangeOf(event);
  const what = change === undefined ? printable(JSON.stringify(event.detail)) : changeText(change);
  return `${printable(event.time)}  ${printable(event['detail-type'])}  ${what}`;
}

function changeText(change: ClusterChange): string {
  const { clusterId, logicalCounter, previousCounter, reason, accelerators } = change;
  const was =
    previousCounter === undefined || previousCounter === logicalCounter ? '' : `, was ${previousCounter}`;
  const why = reason === undefined || reason === '' ? '' : ` (${reason})`;
  const models = accelerators.map(acceleratorText).join('; ');
  return printable(`${clusterId}${why} at ${logicalCounter}${was}${models === '' ? '' : `: ${models}`}`);
}

function acceleratorText({ model, before, after }: AcceleratorChange): string {
  const name = model === '' ? '(no model)' : model;
  if (after === undefined)
    return `${name} unknown, was ${before?.free ?? '?'} free of ${before?.total ?? '?'}`;
  const was = before === undefined || before.free === after.free ? '' : `, was ${before.free}`;
  return `${name} ${after.free} free of ${after.total}${was}`;
}
