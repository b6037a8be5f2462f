// The page as it is seen, as a drawing of boxes and letters: a picture that is text. Gives the text of an SVG file.
(() => {
  const width = innerWidth;
  const height = innerHeight;
  const out = [];
  const canvas = document.createElement('canvas').getContext('2d');
  const kSans = 'DejaVu Sans, Verdana, sans-serif';
  const kMono = 'DejaVu Sans Mono, Menlo, monospace';
  const n = (value) => String(Math.round(value * 10) / 10);
  const safe = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
  /// "#rrggbb" of what a computed style says; null: nothing is to be seen.
  const colour = (said) => {
    const parts = (said.match(/[\d.]+/g) || []).map(Number);
    if (!said.startsWith('rgb') || parts[3] === 0) return null;
    return `#${parts.slice(0, 3).map((v) => v.toString(16).padStart(2, '0')).join('')}`;
  };
  const isThere = (rect) => rect.width > 0 && rect.height > 0 && rect.bottom > 0 && rect.top < height && rect.right > 0 && rect.left < width;
  const box = (rect, attributes) => out.push(`<rect x="${n(rect.left)}" y="${n(rect.top)}" width="${n(rect.width)}" height="${n(rect.height)}"${attributes}/>`);
  const line = (x1, y1, x2, y2, stroke, thickness, dash) =>
    out.push(`<path d="M${n(x1)} ${n(y1)}L${n(x2)} ${n(y2)}" stroke="${stroke}" stroke-width="${n(thickness)}"${dash}/>`);

  function background(rect, style) {
    const radius = parseFloat(style.borderTopLeftRadius) || 0;
    const round = radius > 0 ? ` rx="${n(radius)}"` : '';
    const fill = colour(style.backgroundColor);
    if (fill) box(rect, `${round} fill="${fill}"`);
    const striped = style.backgroundImage.match(/gradient\(.*?(rgba?\([^)]*\))/);
    if (striped) box(rect, ` fill="${colour(striped[1])}" fill-opacity="0.6"`);
    const sides = ['Top', 'Right', 'Bottom', 'Left'].map((side) => ({
      width: style[`border${side}Style`] === 'none' ? 0 : parseFloat(style[`border${side}Width`]),
      colour: colour(style[`border${side}Color`]), dash: style[`border${side}Style`] === 'dashed' ? ' stroke-dasharray="4 3"' : ''}));
    if (sides.every((s) => s.width > 0 && s.colour === sides[0].colour && s.width === sides[0].width)) {
      const half = sides[0].width / 2;
      if (sides[0].colour) box({left: rect.left + half, top: rect.top + half, width: rect.width - 2 * half, height: rect.height - 2 * half},
        `${round} fill="none" stroke="${sides[0].colour}" stroke-width="${n(sides[0].width)}"${sides[0].dash}`);
      return;
    }
    const [top, , bottom] = sides;
    if (top.width > 0 && top.colour) line(rect.left, rect.top + top.width / 2, rect.right, rect.top + top.width / 2, top.colour, top.width, top.dash);
    if (bottom.width > 0 && bottom.colour)
      line(rect.left, rect.bottom - bottom.width / 2, rect.right, rect.bottom - bottom.width / 2, bottom.colour, bottom.width, bottom.dash);
  }

  function letters(text, rect, style) {
    const isMono = /mono/.test(style.fontFamily);
    canvas.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const m = canvas.measureText('x');
    const baseline = rect.top + (rect.height * m.fontBoundingBoxAscent) / (m.fontBoundingBoxAscent + m.fontBoundingBoxDescent);
    const weight = Number(style.fontWeight) >= 600 ? ' font-weight="700"' : '';
    out.push(`<text x="${n(rect.left)}" y="${n(baseline)}" font-size="${n(parseFloat(style.fontSize))}"${isMono ? ` font-family="${kMono}"` : ''}${weight} ` +
      `fill="${colour(style.color)}" textLength="${n(rect.width)}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${safe(text)}</text>`);
  }

  /// What stands in one line of a text is one piece: whole words, and parts of those that are broken.
  function pieces(node) {
    const found = [];
    const rectsOf = (from, to) => {
      const range = document.createRange();
      range.setStart(node, from);
      range.setEnd(node, to);
      return [...range.getClientRects()].filter((rect) => rect.width > 0);
    };
    const add = (from, to, rect) => {
      const last = found[found.length - 1];
      if (!last || Math.abs(last.rect.top - rect.top) >= 2) return found.push({from, to, rect});
      last.to = to;
      last.rect = {left: last.rect.left, top: last.rect.top, right: rect.right, bottom: rect.bottom, height: rect.height, width: rect.right - last.rect.left};
    };
    for (const word of node.data.matchAll(/\S+/g)) {
      const rects = rectsOf(word.index, word.index + word[0].length);
      if (rects.length === 1) add(word.index, word.index + word[0].length, rects[0]);
      for (let i = 0; rects.length > 1 && i < word[0].length; ++i)
        for (const rect of rectsOf(word.index + i, word.index + i + 1)) add(word.index + i, word.index + i + 1, rect);
    }
    return found.map(({from, to, rect}) => [node.data.slice(from, to).replace(/\s/g, ' '), rect]);
  }

  function drawn(element, style, rect) {
    const fill = colour(style.fill);
    const stroke = colour(style.stroke);
    if (element.tagName === 'rect' || element.tagName === 'path') {
      const dash = style.strokeDasharray === 'none' ? '' : ` stroke-dasharray="${style.strokeDasharray.replace(/px/g, '')}"`;
      if (element.tagName === 'path') line(rect.left + rect.width / 2, rect.top, rect.left + rect.width / 2, rect.bottom, stroke ?? fill, 1.5, '');
      else box(rect, ` fill="${fill ?? 'none'}"${stroke ? ` stroke="${stroke}"${dash}` : ''}`);
    }
  }

  function draw(element) {
    const style = getComputedStyle(element);
    const rect = element.getBoundingClientRect();
    if (style.display === 'none' || style.visibility === 'hidden' || style.clipPath !== 'none') return;
    if (element instanceof SVGElement && element.tagName !== 'svg') {
      if (rect.bottom > 0 && rect.top < height) drawn(element, style, rect);
      return;
    }
    if (isThere(rect) && element !== document.documentElement) background(rect, style);
    const before = getComputedStyle(element, '::before');
    for (const child of element.childNodes) {
      if (child.nodeType === Node.ELEMENT_NODE) draw(child);
      if (child.nodeType !== Node.TEXT_NODE) continue;
      for (const [text, where] of pieces(child)) if (isThere(where)) letters(text, where, style);
    }
    const shown = element.tagName === 'INPUT' ? element.value : element.tagName === 'SELECT' ? element.selectedOptions[0]?.text : '';
    if (shown && isThere(rect)) {
      canvas.font = `${style.fontSize} ${style.fontFamily}`;
      const size = parseFloat(style.fontSize);
      letters(shown, {left: rect.left + parseFloat(style.paddingLeft) + 1, top: rect.top + (rect.height - size * 1.17) / 2, width: canvas.measureText(shown).width, height: size * 1.17}, style);
    }
    if (before.content !== 'none' && before.content !== 'normal' && isThere(rect)) {
      const label = `${element.dataset.label ?? ''}:`;
      canvas.font = `${before.fontSize} ${before.fontFamily}`;
      const size = parseFloat(before.fontSize);
      letters(label, {left: rect.left + parseFloat(style.paddingLeft), top: rect.top + parseFloat(style.paddingTop) + size * 0.14, width: canvas.measureText(label).width, height: size * 1.17}, before);
    }
  }

  draw(document.documentElement);
  const back = colour(getComputedStyle(document.body).backgroundColor) ?? '#ffffff';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${kSans}" fill="none">\n` +
    `<rect width="${width}" height="${height}" fill="${back}"/>\n${out.join('\n')}\n</svg>\n`;
})()
