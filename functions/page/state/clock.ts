/** The time, as often as it is shown, and only while somebody looks. */
import { signal } from '@preact/signals';

/** Milliseconds since the epoch by the service's clock, each second. */
export const now = signal(Date.now());
/** The same, as often as clusters are sorted into stale and fresh. */
export const coarseNow = signal(Date.now());

const COARSE_MS = 10_000;

let offsetMs = 0;

/** @param ms by which the service's clock is ahead of this browser's */
export function setClockOffset(ms: number): void {
  // Responses take some time, so the offset wavers; the difference does not matter below a second.
  if (Math.abs(ms - offsetMs) < 1_000) return;
  offsetMs = ms;
  tick();
}

export function tick(): void {
  now.value = Date.now() + offsetMs;
  if (Math.abs(now.value - coarseNow.value) >= COARSE_MS) coarseNow.value = now.value;
}

/** By this browser's clock, as the service would say it. */
export function serverTime(localMs: number): number {
  return localMs + offsetMs;
}

setInterval(() => {
  if (!document.hidden) tick();
}, 1_000);
document.addEventListener('visibilitychange', tick);
