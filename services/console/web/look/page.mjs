// The page that holds the application. It has no script or style of its own: the policy refuses both.
export function page({ assets, script, theme, styles, mark, preload, fonts, noscript = 'The console needs JavaScript. The same data is served at /api/ and /mcp; see /docs.' }) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>Ziggurat Console</title>
<script src="${assets}${theme}"></script>
${styles.map((name) => `<link rel="stylesheet" href="${assets}${name}">`).join('\n')}
<link rel="icon" href="${assets}${mark}" type="image/svg+xml">
${fonts.map((name) => `<link rel="preload" href="${assets}${name}" as="font" type="font/woff2" crossorigin>`).join('\n')}
${preload.map((name) => `<link rel="modulepreload" href="${assets}${name}">`).join('\n')}
<script type="module" src="${assets}${script}"></script>
</head>
<body>
<div id="console"></div>
<noscript>${noscript}</noscript>
</body>
</html>
`.replace(/\n{2,}/g, '\n')
}
