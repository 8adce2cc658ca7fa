/**
 * Patches `jitRuntime` of graphql-jit 0.8.9: an error while a value is completed became an unhandled rejection, which
 * ends Node, and a rejected item of a list was appended at the end instead of at its index.
 */
import { createRequire } from 'node:module';
import type { ExecutionContext } from 'graphql-jit/dist/execution.mjs';

// The ES modules of graphql-jit 0.8.9 import a file without an extension, which Node refuses.
const require = createRequire(import.meta.url);
const { isPromise }: typeof import('graphql-jit/dist/execution.mjs') = require('graphql-jit/dist/execution');
const { jitRuntime }: typeof import('graphql-jit/dist/runtime.mjs') = require('graphql-jit/dist/runtime');

export const { compileQuery, isCompiledQuery }: typeof import('graphql-jit') = require('graphql-jit');

type Handler = (value: unknown) => void;

function settle(context: ExecutionContext, promise: Promise<unknown>, onSuccess: Handler, onError: Handler): void {
  context.promiseCounter += 1;
  const leave = () => {
    context.promiseCounter -= 1;
    if (context.promiseCounter === 0) context.resolve?.(context);
  };
  promise.then(
    (value) => {
      try {
        onSuccess(value);
      } catch (error) {
        onError(asError(error));
      }
      leave();
    },
    (error) => {
      onError(asError(error));
      leave();
    },
  );
}

/** Converts a thrown value that is not an Error, like graphql-js. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(`Unexpected error value: ${String(thrown)}`);

export function patchJitRuntime(): void {
  jitRuntime.callResolver = (context, call, onSuccess, onError) => {
    let value: unknown;
    try {
      value = call();
    } catch (error) {
      onError(asError(error));
      // The next field of a mutation waits for this call. `null` adds no second error at the same path.
      onSuccess(null);
      return;
    }
    jitRuntime.handleResolverResult(context, value, onSuccess, onError);
  };
  jitRuntime.handleResolverResult = (context, value, onSuccess, onError) => {
    if (isPromise(value)) {
      settle(context, value, onSuccess, onError);
      return;
    }
    try {
      onSuccess(value);
    } catch (error) {
      onError(asError(error));
    }
  };
  jitRuntime.handleListItemResult = (context, item, onSuccess) => {
    if (isPromise(item)) {
      // An Error as a value becomes the error of this item.
      settle(context, item, onSuccess, onSuccess);
      return;
    }
    try {
      onSuccess(item);
    } catch (error) {
      onSuccess(asError(error));
    }
  };
}
