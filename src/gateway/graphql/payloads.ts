import { capitalized } from '../../platform/text/capitalized.ts';
import { builder } from './builder.ts';

type PayloadOptions<Shape> = Parameters<ReturnType<typeof builder.objectRef<Shape>>['implement']>[0];

/**
 * Payloads with the same fields for several mutations. The returned function creates the type of one mutation, which is
 * named after it: `UpdateBrokerPayload`. A later field of one mutation is then in no other payload.
 */
export const payloadsWith =
  <Shape extends object>(options: PayloadOptions<Shape>) =>
  (mutation: string) =>
    builder.objectRef<Shape>(`${capitalized(mutation)}Payload`).implement(options);
