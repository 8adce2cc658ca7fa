/** Reads what this page stored in the browser. Other programs may have changed it: then it is `null`. */
export function storedJson<Value>(text: string | null): Value | null {
  try {
    return JSON.parse(text ?? 'null') as Value | null;
  } catch {
    return null;
  }
}
