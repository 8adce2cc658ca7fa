import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { builder, type InputFields } from '../../../gateway/graphql/builder.ts';
import { capitalized } from '../../../platform/text/capitalized.ts';
import type { AccessChange, PutMode } from '../writing/access-change.ts';

export type ChangedObject = 'account' | 'group' | 'role' | 'defaultAcl';

type ChangeInput<Fields extends InputFieldMap = InputFieldMap> = PothosSchemaTypes.InputObjectRef<
  (typeof builder)['$inferSchemaTypes'],
  InputShapeFromFields<Fields>
>;

/** A kind of change: a mutation, and a key of the entries of `changeAccessControl`. */
export interface AccessMutation<Fields extends InputFieldMap = InputFieldMap> {
  readonly name: string;
  readonly description: string;
  /** The objects in the payload. Deletions have none. */
  readonly objects: readonly ChangedObject[];
  readonly input: ChangeInput<Fields>;
  /** `path` is the path of the input, for errors. */
  change(input: InputShapeFromFields<Fields>, path: string): AccessChange;
}

type Change<Fields extends InputFieldMap> = AccessMutation<Fields>['change'];

export const mutation = <Fields extends InputFieldMap>(
  name: string,
  description: string,
  objects: readonly ChangedObject[],
  fields: (t: InputFields) => Fields,
  change: Change<Fields>,
): AccessMutation<Fields> => ({
  name,
  description,
  objects,
  input: builder.inputType(`${capitalized(name)}Change`, { description: `The change of \`${name}\`.`, fields }),
  change,
});

/** Three mutations with one type of input. */
export function putMutations<Fields extends InputFieldMap>(
  type: 'Account' | 'AccessGroup' | 'AccessRole',
  object: ChangedObject,
  noun: string,
  fields: (t: InputFields) => Fields,
  put: (mode: PutMode, ...args: Parameters<Change<Fields>>) => AccessChange,
): AccessMutation[] {
  const input = builder.inputType(`${type}Change`, { description: `The values of ${noun}.`, fields });
  const inMode = (mode: PutMode, description: string): AccessMutation<Fields> => ({
    name: `${mode.toLowerCase()}${type}`,
    description,
    objects: [object],
    input,
    change: (given, path) => put(mode, given, path),
  });
  return [
    inMode('CREATE', `Creates ${noun}. ALREADY_EXISTS if the name is in use.`),
    inMode(
      'UPDATE',
      `Updates ${noun}. Missing fields stay unchanged; null clears a field. NOT_FOUND if it does not exist.`,
    ),
    inMode('PUT', `Creates ${noun}, or updates the existing one like \`update${type}\`. Safe to repeat.`),
  ];
}
