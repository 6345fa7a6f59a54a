/** Small parts that every section is made of. */
import type { ComponentChildren, JSX } from 'preact';
import type { Histogram, Price } from '../api/types.ts';
import { bins } from '../model/capacity.ts';
import { now } from '../state/clock.ts';
import type { Loaded } from '../state/resource.ts';
import { PAGE_ROWS } from '../state/resources.ts';
import { ageText, clockText, countText, priceText, timeText } from '../text/format.ts';
import { visible } from '../text/visible.ts';

/** A name from outside: shown as text, whatever is in it, and kept from changing the order of what is around it. */
export function Name({ text, none = '(none)' }: { text: string; none?: string }): JSX.Element {
  return text === '' ? <i>{none}</i> : <bdi>{visible(text)}</bdi>;
}

export function Count({ value }: { value: string | number | bigint }): JSX.Element {
  return <>{countText(value)}</>;
}

export function PriceOf({ price }: { price: Price | undefined }): JSX.Element {
  return price === undefined ? <i>unknown</i> : <span>{priceText(price)}</span>;
}

/** How long ago, counting up, with the moment itself on hover and for machines. */
export function Age({ ofMs }: { ofMs: number }): JSX.Element {
  return (
    <time dateTime={new Date(ofMs).toISOString()} title={timeText(ofMs)}>
      {ageText(now.value - ofMs)}
    </time>
  );
}

/** A moment in UTC with its age. */
export function Moment({ ms }: { ms: number }): JSX.Element {
  return (
    <>
      {timeText(ms)} (<Age ofMs={ms} /> ago)
    </>
  );
}

/** What is in use, not to be had, and free, of a total. The figures stand beside it. */
export function FreeBar({
  free,
  unavailable,
  total,
}: Record<'free' | 'unavailable' | 'total', bigint>): JSX.Element {
  const width = (part: bigint): number => (total === 0n ? 0 : Number((part * 10_000n) / total) / 100);
  const used = width(total - free - unavailable);
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-all" width="100" height="8" />
      <rect class="bar-used" width={used} height="8" />
      <rect class="bar-unavailable" x={used} width={width(unavailable)} height="8" />
    </svg>
  );
}

/**
 * Nodes by their free accelerators: one bar, whatever the number of nodes, and the same in words.
 *
 * @param nodes all there are; those in no bin have nothing free
 */
export function NodeBar({
  histogram,
  nodes,
  perNode,
}: {
  histogram: Histogram;
  nodes: number;
  perNode: number;
}): JSX.Element {
  const free = bins(histogram).filter((bin) => bin.free > 0);
  const full = nodes - free.reduce((sum, bin) => sum + bin.nodes, 0);
  let x = 0;
  const segments = free.map((bin) => {
    const segment = { ...bin, x, width: nodes === 0 ? 0 : (100 * bin.nodes) / nodes };
    x += segment.width;
    return segment;
  });
  const words = [
    ...free.map((bin) => `${countText(bin.nodes)} × ${bin.free} free`),
    ...(full > 0 ? [`${countText(full)} × none free`] : []),
  ];
  return (
    <>
      <svg class="bar nodes" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
        <rect class="bar-used" width="100" height="8" />
        {segments.map((each) => (
          <rect
            key={each.free}
            class={`free-${Math.min(4, Math.ceil((4 * each.free) / Math.max(1, perNode)))}`}
            x={each.x}
            width={each.width}
            height="8"
          />
        ))}
      </svg>
      <span class="words">{words.join(', ') || 'no nodes'}</span>
    </>
  );
}

/** A part of the page: what it shows, how old that is, and why it is not newer. */
export function Section<T>({
  id,
  title,
  of,
  children,
}: {
  id: string;
  title: string;
  of?: Loaded<T>;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <section id={id} aria-labelledby={`${id}-title`} data-etag={of?.etag}>
      <h2 id={`${id}-title`} tabIndex={-1}>
        {title}
      </h2>
      {of === undefined ? null : <Freshness of={of} />}
      {children}
    </section>
  );
}

/** Says nothing while all is well: what cannot be refreshed stays, dated. */
function Freshness<T>({ of: { data, asOfMs, fault, loading } }: { of: Loaded<T> }): JSX.Element | null {
  if (fault !== undefined) {
    return (
      <p class="fault" role="status">
        ✕ {fault}{' '}
        {data !== undefined && asOfMs !== undefined ? (
          <>
            What is shown is of {clockText(asOfMs)}, <Age ofMs={asOfMs} /> ago.
          </>
        ) : (
          'There is nothing to show; the page tries again.'
        )}
      </p>
    );
  }
  return loading ? <p class="loading">Loading…</p> : null;
}

/** What is wider than the window scrolls by itself. @param label id of the title, or the title itself */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard.
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

export function ShowMore({
  shown,
  all,
  more,
}: {
  shown: number;
  all: number;
  more: () => void;
}): JSX.Element | null {
  if (shown >= all) return null;
  return (
    <p>
      {countText(shown)} of {countText(all)} are shown.{' '}
      <button type="button" onClick={more}>
        Show {countText(Math.min(PAGE_ROWS, all - shown))} more
      </button>
    </p>
  );
}
