import type { ErrorCode as Code, ServiceError } from '../../platform/errors.ts';
import { builder, type OutputFields } from './builder.ts';
import { ErrorCode } from './error-code.ts';

/** An error as a field value. GraphQL would treat an Error object as a failure of the field. */
interface ErrorView {
  readonly code: Code;
  readonly message: string;
  readonly info: Readonly<Record<string, unknown>> | null;
}

export const errorView = (error: ServiceError | null): ErrorView | null =>
  error && { code: error.code, message: error.message, info: error.info ?? null };

export const ChangeError = builder.objectRef<ErrorView>('ChangeError').implement({
  description: 'Why a part of an operation failed, or why a node of a cluster does not work.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCode, description: 'The code of the error.' }),
    message: t.exposeString('message', { description: 'The explanation for users.' }),
    info: t.expose('info', {
      type: 'JSON',
      nullable: true,
      description: 'Further data for programs, depending on `code`. Null if there is none.',
    }),
  }),
});

/** The error that an entry of a result has. */
export const errorField = <Parent extends { readonly error: ServiceError | null }>(
  t: OutputFields<Parent>,
  description: string,
) => t.field({ description, type: ChangeError, nullable: true, resolve: ({ error }) => errorView(error) });
