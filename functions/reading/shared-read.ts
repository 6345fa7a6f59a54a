/**
 * One read for everybody who asks while it has not begun.
 *
 * A response must hold what was true at some time after its request came. A read that is under
 * way began before that, so they wait for the next one, and share it with all who ask until it
 * begins. So a strongly consistent read stays one for each of them, a process has at most one
 * such read under way, and a thousand callers a second cost what one a read's time costs.
 */
export class SharedRead<T> {
  #running: Promise<void> | undefined;
  #next: Promise<T> | undefined;

  constructor(private readonly read: () => Promise<T>) {}

  /** What a read gives that begins after this call. */
  get(): Promise<T> {
    if (this.#running === undefined) return this.#run();
    this.#next ??= this.#running.then(() => this.#run());
    return this.#next;
  }

  #run(): Promise<T> {
    this.#next = undefined;
    const result = this.read();
    const ended = (): void => {
      // Where somebody waits, their read takes over the place before anybody else can.
      if (this.#next === undefined) this.#running = undefined;
    };
    this.#running = result.then(ended, ended);
    return result;
  }
}
