/** Time that runs faster, so that minutes of claims pass in seconds of a test. */

export interface ScaledTime {
  /** Real time at which both were the same, milliseconds since the epoch. */
  readonly beganMs: number;
  readonly speed: number;
}

const realNow = Date.now.bind(Date);

/** @param offsetMs scaled milliseconds by which this clock differs */
export function scaledClock({ beganMs, speed }: ScaledTime, offsetMs = 0): () => number {
  return () => Math.floor(beganMs + (realNow() - beganMs) * speed + offsetMs);
}
