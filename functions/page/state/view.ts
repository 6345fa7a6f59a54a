/** The fragment of this tab as a signal. */
import { signal } from '@preact/signals';
import { readFragment, type ViewState, writeFragment } from './view-state.ts';

export const view = signal<ViewState>(readFragment(location.hash));

addEventListener('hashchange', () => {
  view.value = readFragment(location.hash);
});

/** A link to this view with something else in it. */
export function linkTo(change: Partial<ViewState>): string {
  return `#${writeFragment({ ...view.value, ...change })}`;
}

/** What a keystroke changes replaces the entry of the history: Back leads to the view before, not to a letter less. */
export function replaceView(change: Partial<ViewState>): void {
  view.value = { ...view.value, ...change };
  history.replaceState(null, '', `#${writeFragment(view.value)}`);
}

export function openView(change: Partial<ViewState>): void {
  location.hash = writeFragment({ ...view.value, ...change });
}
