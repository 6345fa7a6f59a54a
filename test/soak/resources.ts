/** What a process holds, by Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs';

export function resourcesOf(pid: number): { readonly memoryMb: number; readonly descriptors: number } {
  const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    memoryMb: Math.round(Number(resident) / 1_024),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}
