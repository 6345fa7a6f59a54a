/**
 * Time and order of a simulated world. Everything that happens is a task with a moment; one runs at
 * a time, until nothing is left to do but wait, so that the seed alone decides what meets what.
 */
import { type Host, setHost, settle } from './host.ts';
import { Random } from './random.ts';

/** 2026-12-01T01:53:20Z, half an hour after the items of `written-before.ts` were written. */
export const START_MS = 1_796_090_000_000;

/** A process or a machine: it can die, and its clock may be off. */
export interface Process {
  readonly name: string;
  alive: boolean;
  /** Milliseconds by which its clock is ahead of the world's. */
  skewMs: number;
}

interface Task {
  readonly atMs: number;
  readonly order: number;
  readonly owner: Process;
  readonly run: () => void;
  cancelled: boolean;
}

export class World implements Host {
  readonly random01: Random;
  /** What the world itself does: networks, databases. */
  readonly nature: Process = { name: 'world', alive: true, skewMs: 0 };
  readonly story: string[] = [];
  #nowMs = 0;
  #order = 0;
  #current: Process = this.nature;
  readonly #tasks: Task[] = [];

  constructor(
    readonly seed: number,
    private readonly tellsStory = false,
  ) {
    this.random01 = new Random(seed);
  }

  /** Milliseconds since the start. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whoever runs now. */
  get current(): Process {
    return this.#current;
  }

  wallMs(): number {
    return START_MS + Math.floor(this.#nowMs) + this.#current.skewMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  random(): number {
    return this.random01.next();
  }

  later(ms: number, callback: () => void): () => void {
    return this.schedule(ms, this.#current, callback);
  }

  /** Runs `run` as `owner` after so many milliseconds, if the owner is alive then. */
  schedule(ms: number, owner: Process, run: () => void): () => void {
    const task: Task = {
      atMs: this.#nowMs + Math.max(0, ms),
      order: this.#order++,
      owner,
      run,
      cancelled: false,
    };
    push(this.#tasks, task);
    return () => {
      task.cancelled = true;
    };
  }

  /** A line of the story that a failed seed is printed as. */
  note(line: string): void {
    if (this.tellsStory) this.story.push(`${(this.#nowMs / 1_000).toFixed(3).padStart(9)}s  ${line}`);
  }

  /** Runs until the moment `untilMs`, or until `done` says so, or until nothing is left to do. */
  async run(untilMs: number, done: () => boolean = () => false): Promise<void> {
    setHost(this);
    try {
      for (let task = this.#tasks[0]; task !== undefined && task.atMs <= untilMs; task = this.#tasks[0]) {
        pop(this.#tasks);
        if (task.cancelled || !task.owner.alive) continue;
        this.#nowMs = task.atMs;
        this.#current = task.owner;
        task.run();
        await settle();
        this.#current = this.nature;
        if (done()) return;
      }
      this.#nowMs = Math.max(this.#nowMs, untilMs);
    } finally {
      this.#current = this.nature;
      setHost(undefined);
    }
  }
}

function before(a: Task, b: Task): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** A binary heap, the next task first. */
function push(heap: Task[], task: Task): void {
  heap.push(task);
  for (let at = heap.length - 1; at > 0; ) {
    const parent = (at - 1) >> 1;
    const [a, b] = [heap[at], heap[parent]];
    if (a === undefined || b === undefined || !before(a, b)) return;
    heap[at] = b;
    heap[parent] = a;
    at = parent;
  }
}

function pop(heap: Task[]): void {
  const last = heap.pop();
  if (heap.length === 0 || last === undefined) return;
  heap[0] = last;
  for (let at = 0; ; ) {
    const [left, right] = [2 * at + 1, 2 * at + 2];
    let least = at;
    for (const child of [left, right]) {
      const [a, b] = [heap[child], heap[least]];
      if (a !== undefined && b !== undefined && before(a, b)) least = child;
    }
    if (least === at) return;
    const [a, b] = [heap[at], heap[least]];
    if (a === undefined || b === undefined) return;
    heap[at] = b;
    heap[least] = a;
    at = least;
  }
}
