/** Ages as people say them. */
import type { Duration } from '@bufbuild/protobuf/wkt';

export function ageText(age: Duration | undefined): string {
  const seconds = Number(age?.seconds ?? 0n);
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
