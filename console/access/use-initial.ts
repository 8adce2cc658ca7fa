import { useState } from 'react';

/** The value when a form was opened, and whether the broker has another one meanwhile. */
export function useInitial<Value>(value: Value): { readonly initial: Value; readonly hasChanged: boolean } {
  const [initial] = useState(value);
  return { initial, hasChanged: JSON.stringify(initial) !== JSON.stringify(value) };
}
