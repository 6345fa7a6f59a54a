/** Long work that can be left for a while, so that a process that has other things to do can do them. */

/** Work that yields every now and then; the caller may do something else before it goes on. */
export type Stepwise<T> = Generator<void, T, void>;

/** Does all of it now. */
export function atOnce<T>(work: Stepwise<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
