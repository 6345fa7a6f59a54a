/**
 * Tags of a launched product. Names that start with `__` belong to the system: whatever
 * a client sends or is shown is free of them, and one of them carries the stop time to
 * the one who ends the product.
 */
import type { ProductTemplate } from './model.ts';

const RESERVED_PREFIX = '__';
const STOP_TAG = '__stopDateTime';

type Tags = Readonly<Record<string, string>>;

/**
 * The tags that belong to the client: in on submission, out in every answer.
 *
 * @example
 * ```ts
 * import { clientTags } from '@resource-map/client/bundle';
 *
 * console.log(clientTags({ team: 'a', __stopDateTime: '2027-01-01T00:00:00Z' })); // { team: 'a' }
 * ```
 */
export function clientTags(tags: Tags): Tags {
  return fromEntries(Object.entries(tags).filter(([name]) => !name.startsWith(RESERVED_PREFIX)));
}

/**
 * The tags to launch with: the client's, and the stop time where the template has one.
 *
 * @example
 * ```ts
 * import { launchTags, type ProductTemplate } from '@resource-map/client/bundle';
 *
 * declare const template: ProductTemplate;
 * console.log(launchTags(template));
 * ```
 */
export function launchTags(template: ProductTemplate): Tags {
  const own = Object.entries(clientTags(template.tags ?? {}));
  return fromEntries(template.stopDateTime === undefined ? own : [...own, [STOP_TAG, template.stopDateTime]]);
}

/**
 * A template as it was before {@link launchTags}: the stop time from its tag, the client's tags without it.
 *
 * @example
 * ```ts
 * import { launchTags, templateOfLaunched, type ProductTemplate } from '@resource-map/client/bundle';
 *
 * declare const template: ProductTemplate;
 * const shown = templateOfLaunched({ ...template, tags: launchTags(template) });
 * ```
 */
export function templateOfLaunched(
  launched: Omit<ProductTemplate, 'stopDateTime' | 'tags'> & { readonly tags: Tags },
): ProductTemplate {
  const stopDateTime = new Map(Object.entries(launched.tags)).get(STOP_TAG);
  return {
    ...launched,
    tags: clientTags(launched.tags),
    ...(stopDateTime === undefined ? {} : { stopDateTime }),
  };
}

/**
 * When the product is to start: its own time, or now. RFC 3339.
 *
 * @example
 * ```ts
 * import { launchStart, type ProductTemplate } from '@resource-map/client/bundle';
 *
 * declare const template: ProductTemplate;
 * console.log(launchStart(template, new Date()));
 * ```
 */
export function launchStart(template: ProductTemplate, now: Date): string {
  return template.startDateTime ?? now.toISOString();
}

/** `Object.fromEntries` defines properties, so that a tag of any name is one more tag. */
function fromEntries(entries: readonly (readonly [string, string])[]): Tags {
  return Object.fromEntries(entries);
}
