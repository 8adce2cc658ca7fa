/** Prints a figure and its bar. If the figure is above the bar, the process exits with 1. */
export function atMost(what: string, value: number, most: number, unit: string): void {
  const isMissed = !(value <= most);
  if (isMissed) process.exitCode = 1;
  console.log(`${what}: ${rounded(value)} ${unit} (at most ${most})${isMissed ? ', MISSED' : ''}`);
}

const rounded = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

/** Prints whether a bar is met. If not, the process exits with 1. */
export function check(text: string, isGood: boolean): void {
  console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
  if (!isGood) process.exitCode = 1;
}
