import { capitalized } from '../../platform/text/capitalized.ts';
import { builder, type InputRef } from './builder.ts';

/** The only argument of most mutations. */
export const inputArgument = <Shape>(type: InputRef<Shape>, description: string) =>
  builder.args((t) => ({ input: t.field({ type, description, required: true }) }));

type PayloadOptions<Shape> = Parameters<ReturnType<typeof builder.objectRef<Shape>>['implement']>[0];

/**
 * Payloads with the same fields for several mutations. The returned function creates the type of one mutation, which is
 * named after it: `UpdateBrokerPayload`. A later field of one mutation is then in no other payload.
 */
export const payloadsWith =
  <Shape extends object>(options: PayloadOptions<Shape>) =>
  (mutation: string) =>
    builder.objectRef<Shape>(`${capitalized(mutation)}Payload`).implement(options);

/** The payload of one mutation with nothing but the id of what it removed. */
export const idPayload = <Key extends string>(mutation: string, key: Key, description: string, idDescription: string) =>
  payloadsWith<Readonly<Record<Key, string>>>({
    description,
    fields: (t) => ({ [key]: t.id({ description: idDescription, resolve: (parent) => parent[key] }) }),
  })(mutation);
