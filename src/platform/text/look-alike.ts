/** Letters that fonts show as a Latin letter (Unicode Technical Standard 39, confusables), after NFKD. */
const LATIN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аαɑ',
    b: 'вʙь',
    c: 'сϲ',
    d: 'ԁ',
    e: 'еεҽ',
    f: 'ƒքϝ',
    g: 'ɡց',
    h: 'һհн',
    i: 'ıіιɩ',
    j: 'јȷϳ',
    k: 'кκ',
    l: 'ӏɭ',
    m: 'м',
    n: 'ηпո',
    o: 'оοօσ',
    p: 'рρ',
    q: 'ԛգ',
    r: 'гʀ',
    s: 'ѕꜱ',
    t: 'тτ',
    u: 'υսʋ',
    v: 'νѵ',
    w: 'ԝωա',
    x: 'хχ',
    y: 'уγү',
    z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
);

/** Equal for texts that people take for each other, such as `admın` and `admin`. */
export const skeletonOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{Mark}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replace(/[^\p{ASCII}]/gu, (letter) => LATIN.get(letter) ?? letter);

/** Scripts with letters that look like Latin ones, of which LATIN has the most frequent. */
const LIKE_LATIN =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Coptic}\p{Script=Cherokee}\p{Script=Georgian}\p{Script=Lisu}]/u;

/** Whether a word has Latin letters and letters that look like them, which no language does. */
export const mixesScripts = (text: string): boolean =>
  text
    .normalize('NFKD')
    .split(/[^\p{Letter}\p{Mark}\p{Number}]+/u)
    .some((word) => /\p{Script=Latin}/u.test(word) && LIKE_LATIN.test(word));

export const isAscii = (text: string): boolean => !/[^\p{ASCII}]/u.test(text);
