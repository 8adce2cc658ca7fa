/** The time of `includes` for a shorter part is linear, too. */
const LONG = 16;

/**
 * The place of each occurrence of a part that is not empty, also of overlapping ones. The time is linear in the lengths
 * (Knuth, Morris and Pratt), whereas `indexOf` compares the whole part at each place of texts such as `aaaa…`.
 */
export function* placesOf(part: string, text: string): Generator<number> {
  const borders = bordersOf(part);
  let fits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (fits > 0 && part.charCodeAt(fits) !== unit) fits = borders[fits - 1] as number;
    if (part.charCodeAt(fits) === unit) fits += 1;
    if (fits === part.length) {
      yield at + 1 - fits;
      fits = borders[fits - 1] as number;
    }
  }
}

/** `text.includes(part)` in linear time. */
export const includesText = (text: string, part: string): boolean =>
  isLongPart(part) ? part.length <= text.length && !placesOf(part, text).next().done : text.includes(part);

export const isLongPart = (part: string): boolean => part.length > LONG;

/** For each beginning of a text, the length of its longest proper beginning that it also ends with. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let border = 0;
  for (let at = 1; at < part.length; at += 1) {
    const unit = part.charCodeAt(at);
    while (border > 0 && part.charCodeAt(border) !== unit) border = borders[border - 1] as number;
    if (part.charCodeAt(border) === unit) border += 1;
    borders[at] = border;
  }
  return borders;
}
