/** What clients did and were told, and the checks of it that say which guarantee was broken. */

/** A push that was acknowledged. Times are of one monotonic clock, in milliseconds. */
export interface Acknowledged {
  readonly clusterId: string;
  readonly counter: bigint;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** A push that was refused since a higher counter had been accepted. */
export interface Refused extends Acknowledged {
  readonly highWaterMark: bigint;
}

/** An omission that the table took. */
export interface Omission {
  readonly clusterId: string;
  /** Of the head that the sweep had read. */
  readonly highWater: bigint;
  /** When its write was sent. */
  readonly writtenAt: number;
}

/** Pushes that were accepted below a counter that had been acknowledged before they began. */
export function lowered(pushes: readonly Acknowledged[]): readonly string[] {
  return pushes.flatMap((push) => {
    const before = pushes.find(
      (p) => p.clusterId === push.clusterId && p.counter > push.counter && p.endedAt < push.startedAt,
    );
    return before === undefined
      ? []
      : [`${push.clusterId}: ${push.counter} was accepted after ${before.counter} had been acknowledged`];
  });
}

/** Refusals that named a mark below a counter that had been acknowledged before. */
export function forgotten(pushes: readonly Acknowledged[], refusals: readonly Refused[]): readonly string[] {
  return refusals.flatMap((refusal) => {
    const before = pushes.find(
      (p) =>
        p.clusterId === refusal.clusterId &&
        p.counter > refusal.highWaterMark &&
        p.endedAt < refusal.startedAt,
    );
    return before === undefined
      ? []
      : [
          `${refusal.clusterId}: the mark was ${refusal.highWaterMark} after ${before.counter} had been acknowledged`,
        ];
  });
}

/** Omissions of a cluster whose newer push had been acknowledged before the omission was written. */
export function omittedThoughHeard(
  pushes: readonly Acknowledged[],
  omissions: readonly Omission[],
): readonly string[] {
  return omissions.flatMap((omission) => {
    const newer = pushes.find(
      (p) =>
        p.clusterId === omission.clusterId &&
        p.counter > omission.highWater &&
        p.endedAt < omission.writtenAt,
    );
    return newer === undefined
      ? []
      : [
          `${omission.clusterId}: omitted at ${omission.highWater} after ${newer.counter} had been acknowledged`,
        ];
  });
}
