/**
 * The template as far as moto can take it. It passes over types that it does not know, and over
 * whatever comes after a resource that it fails on, and still says CREATE_COMPLETE; so what it cannot
 * take is left out here, by name, and the test reads back what it made.
 */
export interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Type: string; readonly DependsOn?: readonly string[] }>
  >;
  readonly Outputs: Readonly<Record<string, unknown>>;
}

/** It models the type, and fails on ours: the event pattern must be text to it, and is an object. */
const FAILING = new Set(['AWS::Events::Archive']);

export interface Reduced {
  readonly template: Template;
  /** Types that were left out, for themselves and for what they refer to. */
  readonly leftOut: readonly string[];
}

/** @param supported the types that moto models */
export function reduceFor(supported: readonly string[], template: Template): Reduced {
  const resources = new Map(Object.entries(template.Resources));
  const gone = new Set<string>();
  for (const [id, { Type }] of resources) if (!supported.includes(Type) || FAILING.has(Type)) gone.add(id);
  for (let before = -1; before !== gone.size; ) {
    before = gone.size;
    for (const [id, { DependsOn: _order, ...resource }] of resources)
      if (refersTo(resource, gone)) gone.add(id);
  }
  const busNames = new Map(
    [...resources].flatMap(([id, resource]) => {
      const { Name } = (resource as { Properties?: { Name?: unknown } }).Properties ?? {};
      return resource.Type === 'AWS::Events::EventBus' ? [[id, String(Name)] as const] : [];
    }),
  );
  const kept = Object.fromEntries(
    [...resources]
      .filter(([id]) => !gone.has(id))
      .map(([id, { DependsOn = [], ...resource }]) => [
        id,
        { ...resource, DependsOn: DependsOn.filter((each) => !gone.has(each)) },
      ]),
  );
  const outputs = Object.entries(template.Outputs).filter(([, output]) => !refersTo(output, gone));
  return {
    template: withNames(
      { ...template, Resources: kept, Outputs: Object.fromEntries(outputs) },
      busNames,
    ) as Template,
    leftOut: [...new Set([...gone].map((id) => resources.get(id)?.Type ?? ''))].sort(),
  };
}

function refersTo(value: unknown, ids: ReadonlySet<string>): boolean {
  if (Array.isArray(value)) return value.some((each) => refersTo(each, ids));
  if (typeof value !== 'object' || value === null) return false;
  const { Ref, 'Fn::GetAtt': attribute } = value as { Ref?: string; 'Fn::GetAtt'?: readonly string[] };
  if (ids.has(Ref ?? '') || ids.has(attribute?.[0] ?? '')) return true;
  return Object.values(value).some((each) => refersTo(each, ids));
}

/** To moto a reference to a bus is an object that is no text. */
function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => withNames(each, names));
  if (typeof value !== 'object' || value === null) return value;
  const name = names.get((value as { Ref?: string }).Ref ?? '');
  if (name !== undefined) return name;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNames(each, names)]));
}
