/**
 * Retirement: what is left of a cluster that went for good is its mark, in a partition that
 * no poll reads.
 *
 * Two writes, and no transaction around them:
 *
 * ```text
 *  sweeper   reads head (10, omitted) ── keeps mark 10 ── deletes head, if it is that one
 *  killed between the two:  the head is still there and is read first; the mark waits beside it
 * ```
 *
 * - **No moment without a mark.** The mark is kept before the head goes, and a push looks for
 *   the head first and for the mark second, so it finds one of them.
 * - **No push is undone.** The delete asks for the very head that was read. A push between the
 *   two writes moved it, so it stays, above the mark.
 * - **No writer from before brings back a lower counter.** One that read a head writes only over
 *   that head, and it is gone. One that read *no* head writes where there is none, and that
 *   would be true again:
 *
 *   ```text
 *    writer W   reads nothing ─────────────── … ───────────────── writes 3: must not happen
 *    others            publish 5 ── omitted ── retireAfter ── retired
 *   ```
 *
 *   W read before the omission and writes after the retirement, so it was on its way for
 *   longer than `retireAfter`. No commit can be: Lambda ends every invocation after
 *   `LONGEST_COMMIT_MS` at the latest, and locally the client has given up long before.
 *   `MIN_RETIRE_AFTER_MS` keeps the two apart, with room for the clocks of two machines;
 *   settings below it are refused.
 */
import type { Head } from './head.ts';
import type { HeadStore } from './heads.ts';

/**
 * Retires a head that is out of the map. May be repeated, and abandoned, at any point.
 *
 * @throws HeadConflictError where a push came meanwhile: the head stays
 * @throws RetiredMarkError if a higher mark is there: the head stays
 */
export async function retireHead(heads: HeadStore, head: Head): Promise<void> {
  const { clusterId, highWater, collectedAtNanos, body, omission } = head;
  if (omission === undefined) throw new Error(`Cluster ${JSON.stringify(clusterId)} is in the map.`);
  await heads.putTombstone({ clusterId, highWater, collectedAtNanos, contentId: body.contentId });
  await heads.remove({ ...head, omission });
}
